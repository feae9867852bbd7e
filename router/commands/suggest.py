"""`skill-router suggest`: the decision for one request."""

from __future__ import annotations

import sys

import click

from router.block import suggestion_block
from router.cli import print_json
from router.commands.options import (
    JudgeChoice,
    judge_options,
    load_roster,
    load_router,
    router_options,
)
from router.suggestion import Suggestion
from router.turn import Turn

_MOST_STDIN = 4 << 20


@click.command()
@click.argument("text", required=False)
@router_options
@judge_options
@click.option(
    "--context",
    multiple=True,
    metavar="TEXT",
    help="An earlier message; repeat it, oldest first.",
)
@click.option(
    "--allowed-tool",
    "allowed_tools",
    multiple=True,
    metavar="NAME",
    help="A tool the agent may use; repeat it. Skills that require another one are not suggested.",
)
@click.option(
    "--loaded", multiple=True, metavar="NAME", help="A skill that is loaded already; repeat it."
)
@click.option("--explain", is_flag=True, help="Also print what led to it.")
@click.option("--block", is_flag=True, help="Print the block for the agent instead.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def suggest(
    text: str | None,
    roster_path: str | None,
    duplicates: str,
    thresholds: str | None,
    encoder: str | None,
    heads: str | None,
    reranker: str | None,
    cache: str | None,
    context: tuple[str, ...],
    allowed_tools: tuple[str, ...],
    loaded: tuple[str, ...],
    explain: bool,
    block: bool,
    as_json: bool,
    judge: JudgeChoice,
) -> None:
    """Which skill should be loaded for TEXT, if any? Without TEXT, it is read from stdin."""
    if text is None:
        if sys.stdin.isatty():
            raise click.UsageError("give the request: skill-router suggest 'what shipped in 4.2?'")
        text = sys.stdin.buffer.read(_MOST_STDIN).decode("utf-8", "replace")
    roster = load_roster(roster_path, duplicates)
    router = load_router(roster, thresholds, encoder, heads, cache, reranker, judge)
    suggestion = router.suggest(
        Turn(
            request=text,
            recent_context=context,
            allowed_tools=frozenset(allowed_tools) if allowed_tools else None,
            loaded=frozenset(loaded),
        )
    )
    if as_json:
        print_json(as_record(suggestion))
    elif block:
        click.echo(suggestion_block(suggestion))
    elif explain:
        click.echo(str(suggestion))
    else:
        click.echo(str(suggestion).splitlines()[0])


def as_record(suggestion: Suggestion) -> dict[str, object]:
    """A suggestion as JSON, with the need and the block worked out; the ten best of the rank."""
    record = suggestion.model_dump(mode="json")
    record["ranking"] = [[name, round(p, 6)] for name, p in suggestion.ranking.entries[:10]]
    if suggestion.gate is not None:
        record["gate"]["need"] = suggestion.gate.need
    record["block"] = suggestion_block(suggestion)
    return record
