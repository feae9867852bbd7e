"""`skill-router hook install|uninstall|status`; the hook itself is in `router.hook.run`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import click

from router.hook.places import skill_layers
from router.hook.settings import (
    BACKUP_SUFFIX,
    Agent,
    Scope,
    SettingsError,
    hook_command,
    installed,
    settings_file,
    uninstall,
)
from router.hook.settings import install as install_hook

_WORDS = {
    "added": "installed",
    "updated": "brought up to date",
    "unchanged": "was installed already",
    "removed": "removed",
    "absent": "was not installed",
}


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    agent = click.option(
        "--agent", type=click.Choice(["claude", "codex"]), default="claude", show_default=True
    )
    scope = click.option(
        "--scope",
        type=click.Choice(["user", "project", "local"]),
        default="user",
        show_default=True,
        help="Whose settings: yours, the project's, or yours in this project.",
    )
    project = click.option(
        "--project", metavar="DIR", default=".", help="The project's folder.  [default: this one]"
    )
    return agent(scope(project(command)))


@click.group(invoke_without_command=True)
@click.option("--agent", type=click.Choice(["claude", "codex"]), help="Which agent runs the hook.")
@click.option("--roster", metavar="PATH", help="Skills to use instead of those the agent finds.")
@click.option("--no-service", is_flag=True, help="Do not ask or start the resident service.")
@click.pass_context
def hook(context: click.Context, agent: str | None, roster: str | None, no_service: bool) -> None:
    """Suggest a skill to Claude Code or Codex before each turn.

    Without a subcommand it is the hook: it reads the UserPromptSubmit JSON from stdin and prints
    the suggestion as additional context, or nothing.
    """
    if context.invoked_subcommand is None:
        from router.hook.run import main

        arguments = [f"--agent={agent}"] if agent else []
        arguments += [f"--roster={roster}"] if roster else []
        sys.exit(main([*arguments, *(["--no-service"] if no_service else [])]))


@hook.command()
@_where
def install(agent: str, scope: str, project: str) -> None:
    """Put the hook into the agent's settings; every other entry stays."""
    file = _file(agent, scope, project)
    existed = file.exists()
    outcome = install_hook(file, hook_command(cast(Agent, agent), cast(Scope, scope)))
    click.echo(f"{file}: the hook {_WORDS[outcome]}")
    if existed and outcome != "unchanged":
        click.echo(f"the file as it was: {file.name}{BACKUP_SUFFIX}, beside it")


@hook.command(name="uninstall")
@_where
def uninstall_command(agent: str, scope: str, project: str) -> None:
    """Take the hook out of the agent's settings; every other entry stays."""
    file = _file(agent, scope, project)
    click.echo(f"{file}: the hook {_WORDS[uninstall(file)]}")


@hook.command()
@click.option("--project", metavar="DIR", default=".", help="The project's folder.")
def status(project: str) -> None:
    """Show where the hook is installed, which skills it finds, and whether the service runs."""
    from router.service.client import is_running

    folder = _folder(project)
    scopes: dict[Agent, tuple[Scope, ...]] = {
        "claude": ("user", "project", "local"),
        "codex": ("user", "project"),
    }
    for agent in scopes:
        for scope in scopes[agent]:
            file = settings_file(agent, scope, folder)
            click.echo(f"{agent:<7} {scope:<8} {_state(file)}  ({file})")
        for layer in skill_layers(agent, str(folder)):
            place = layer if isinstance(layer, str) else f"{layer['path']}  ({layer['prefix']}:)"
            click.echo(f"{agent:<7} skills   {place}")
    click.echo(f"service {'running' if is_running() else 'not running; the hook starts it'}")


def _state(file: Path) -> str:
    try:
        command = installed(file)
    except SettingsError as error:
        return f"unreadable: {error}"
    return f"installed: {command}" if command else "not installed"


def _file(agent: str, scope: str, project: str) -> Path:
    return settings_file(cast(Agent, agent), cast(Scope, scope), _folder(project))


def _folder(project: str) -> Path:
    folder = Path(project).expanduser().resolve()
    if not folder.is_dir():
        raise SettingsError(f"{project}: is no folder; give the project's folder")
    return folder
