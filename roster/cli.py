"""The ``roster`` commands: list, prompt, check."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from roster.duplicates import Duplicates
    from roster.problem import Problem
    from roster.roster import Roster

Command = Callable[..., Any]


def roster_option(command: Command) -> Command:
    """Add ``--roster PATH`` to a command."""
    return click.option(
        "--roster",
        "path",
        metavar="PATH",
        help="A folder searched for SKILL.md, or a .json or .jsonl file.  [default: bundled]",
    )(command)


def _duplicates_option(command: Command) -> Command:
    return click.option(
        "--duplicates",
        type=click.Choice(["error", "first", "namespace"]),
        default="error",
        show_default=True,
        help="What to do with skills of one name.",
    )(command)


def _json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@click.group("roster")
def roster() -> None:
    """Look at a roster of skills."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a character shows its escape.
        sys.stdout.reconfigure(errors="backslashreplace")


@roster.command("list")
@roster_option
@_duplicates_option
@_json_option
def list_skills(path: str | None, duplicates: Duplicates, as_json: bool) -> None:
    """List the skills."""
    loaded = load(path, duplicates)
    if as_json:
        fields = {"name", "category", "description", "requires", "version", "source", "digest"}
        skills = [skill.model_dump(mode="json", include=fields) for skill in loaded]
        click.echo(json.dumps({"digest": loaded.digest, "skills": skills}, indent=2))
        return
    _print_table(loaded)
    _note_problems(loaded.problems)


@roster.command()
@roster_option
@_duplicates_option
@click.option(
    "--width",
    type=click.IntRange(min=4),
    default=60,
    show_default=True,
    help="Longest description, in characters.",
)
def prompt(path: str | None, duplicates: Duplicates, width: int) -> None:
    """Print the index of the roster for a system prompt."""
    click.echo(load(path, duplicates).prompt(width))


@roster.command()
@roster_option
@click.option("--strict", is_flag=True, help="Count warnings and suspicions as errors.")
@click.option(
    "--quarantine",
    metavar="WHAT",
    help="Whose level and trusted skills count: a level, a TOML file, or off.  [default: 0.8]",
)
@_json_option
def check(path: str | None, strict: bool, quarantine: str | None, as_json: bool) -> None:
    """Report every problem as FILE:LINE, and skills that look hostile; exit with 1 on errors."""
    from roster.check import as_errors, check
    from roster.errors import RosterError, RosterFormatError
    from roster.suspicion import Quarantine, review

    try:
        rules = Quarantine.of(quarantine)
    except RosterError as error:
        raise click.ClickException(str(error)) from None
    digest, count = None, 0
    suspects: list[dict[str, Any]] = []
    problems: tuple[Problem, ...]
    try:
        loaded = load(path, "first", raw=True)
    except RosterFormatError as error:
        problems = error.problems
    else:
        digest, count = loaded.digest, len(loaded)
        suspects = review(loaded, rules)
        problems = tuple(
            as_errors([problem])[0] if problem.code == "duplicate-dropped" else problem
            for problem in check(loaded, strict)
        )
    errors = sum(problem.is_error for problem in problems)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "skills": count,
                    "digest": digest,
                    "errors": errors,
                    "warnings": len(problems) - errors,
                    "problems": [problem.model_dump() for problem in problems],
                    "suspicious": suspects,
                },
                indent=2,
            )
        )
    else:
        for problem in problems:
            click.echo(f"{problem.severity}: {problem} [{problem.code}]")
        if suspects:
            _print_suspects(suspects)
        more = f", {len(suspects)} suspicious" if suspects else ""
        click.echo(f"{count} skills, {errors} errors, {len(problems) - errors} warnings{more}")
    sys.exit(1 if errors or (strict and suspects) else 0)


def load(path: str | None, duplicates: Duplicates = "error", *, raw: bool = False) -> Roster:
    """Load the roster that a command was pointed at.

    Args:
        path: What ``--roster`` was given, or None for the bundled roster.
        duplicates: As in `Roster.from_directory`.
        raw: Whether malformed content raises `RosterFormatError` itself.

    Raises:
        click.ClickException: If there is no such roster, with the remedy in its message.
    """
    from roster.errors import RosterError, RosterFormatError
    from roster.roster import Roster

    try:
        return Roster.bundled() if path is None else Roster.from_path(path, duplicates)
    except RosterFormatError as error:
        if raw:
            raise
        raise click.ClickException(str(error)) from None
    except RosterError as error:
        raise click.ClickException(str(error)) from None


def _print_table(loaded: Roster) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from roster.prompt import index_description

    table = Table(title=f"{len(loaded)} skills", title_justify="left", expand=True)
    longest = max((len(skill.name) for skill in loaded), default=4)
    table.add_column("name", no_wrap=True, min_width=min(longest, 36))
    table.add_column("category", no_wrap=True, min_width=10)
    table.add_column("description", no_wrap=True, ratio=1)
    for skill in sorted(loaded, key=lambda each: (each.category, each.name)):
        table.add_row(Text(skill.name), Text(skill.category), Text(index_description(skill, 200)))
    Console().print(table)


def _print_suspects(suspects: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from roster.text import visible

    table = Table(title="Suspicious skills", title_justify="left", expand=True)
    table.add_column("suspicion", justify="right", no_wrap=True)
    table.add_column("skill", no_wrap=True, max_width=40)
    table.add_column("status", no_wrap=True)
    table.add_column("why", ratio=1)
    for one in suspects:
        status = "quarantined" if one["quarantined"] else "review"
        why = "; ".join(visible(sign["reason"]) for sign in one["signs"])
        table.add_row(
            f"{one['score']:.2f}", Text(visible(one["name"])), status, Text(why or one["reason"])
        )
    Console().print(table)


def _note_problems(problems: tuple[Problem, ...]) -> None:
    if problems:
        errors = sum(problem.is_error for problem in problems)
        click.echo(
            f"{errors} errors, {len(problems) - errors} warnings; see them with: roster check",
            err=True,
        )
