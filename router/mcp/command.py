"""`skill-router mcp`: serve the tools over stdin and stdout."""

from __future__ import annotations

from pathlib import Path

import click

from roster import Roster
from roster.suspicion import Quarantine
from router.pipeline import Router


@click.command()
@click.option(
    "--roster",
    "roster_path",
    metavar="PATH",
    help="A folder searched for SKILL.md, or a .json or .jsonl file.  "
    "[default: the agent's skills]",
)
@click.option(
    "--agent",
    type=click.Choice(["claude", "codex"]),
    default="claude",
    show_default=True,
    help="Whose skills to find when no roster is given.",
)
@click.option("--bundled", is_flag=True, help="Serve the skills that come with the package.")
@click.option("--thresholds", metavar="FILE", help="A TOML file.  [default: those shipped]")
@click.option(
    "--quarantine",
    metavar="WHAT",
    help="Skills that are never suggested: a suspicion level, a TOML file, or off.  [default: 0.8]",
)
def mcp(
    roster_path: str | None,
    agent: str,
    bundled: bool,
    thresholds: str | None,
    quarantine: str | None,
) -> None:
    """Offer suggest_skill, search_skills and load_skill over stdin and stdout."""
    try:
        from router.mcp.server import make_server
    except ImportError as error:
        raise click.ClickException(
            f"this needs the package mcp ({error}); run pip install 'skill-router[mcp]'"
        ) from error
    if roster_path and bundled:
        raise click.UsageError("give --roster or --bundled, not both")
    roster = _roster(roster_path, agent, bundled)
    rules = Quarantine.of(quarantine)  # a wrong one is said now, not at the first turn
    make_server(lambda: Router.load(roster, thresholds=thresholds, quarantine=rules)).run("stdio")


def _roster(path: str | None, agent: str, bundled: bool) -> Roster:
    from roster.layers import Layer, layered
    from router.hook.places import skill_layers

    if bundled:
        return Roster.bundled()
    if path:
        return layered([path])
    folders = skill_layers(agent, str(Path.cwd()))
    if not folders:
        raise click.ClickException(
            f"no folder with skills was found for {agent} in {Path.cwd()} or your home; give "
            "--roster PATH, or --bundled for the skills that come with the package"
        )
    return layered([Layer(each) if isinstance(each, str) else Layer(**each) for each in folders])
