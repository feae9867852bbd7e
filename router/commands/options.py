"""Options that several commands share, and what they load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from roster import Roster
from router.local.vectors import Progress
from router.pipeline import Router

Command = Callable[..., Any]


def router_options(command: Command) -> Command:
    """Add the options that choose roster, thresholds, encoder and heads."""
    for option in reversed(
        [
            click.option(
                "--roster",
                "roster_path",
                metavar="PATH",
                help="A folder searched for SKILL.md, or a .json or .jsonl file.  "
                "[default: bundled]",
            ),
            click.option(
                "--duplicates",
                type=click.Choice(["error", "first", "namespace"]),
                default="error",
                show_default=True,
                help="What to do with skills of one name.",
            ),
            click.option(
                "--thresholds", metavar="FILE", help="A TOML file.  [default: those shipped]"
            ),
            click.option(
                "--encoder", metavar="NAME", help='"minilm", a folder, or a model\'s name.'
            ),
            click.option("--heads", metavar="FILE", help="Heads learned for that encoder."),
            click.option("--cache", metavar="DIR", help="Folder of the index cache."),
        ]
    ):
        command = option(command)
    return command


def load_roster(path: str | None, duplicates: str = "error") -> Roster:
    """The roster of `--roster`, or the bundled one; with a hint on names that clash."""
    from roster.cli import load

    return load(path, duplicates)  # type: ignore[arg-type]  # click has checked the choice


def load_router(
    roster: Roster,
    thresholds: str | None,
    encoder: str | None,
    heads: str | None,
    cache: str | None,
) -> Router:
    """A router with a progress bar on a terminal while the index is built."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = None

        def show(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                task = bar.add_task("indexing skills", total=total)
            bar.update(task, completed=done, total=total)

        progress: Progress | None = show if sys.stderr.isatty() else None
        return Router.load(
            roster,
            thresholds=thresholds,
            encoder=encoder,
            heads=heads,
            cache=cache,
            progress=progress,
        )
