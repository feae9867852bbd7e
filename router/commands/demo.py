"""`skill-router demo`: three requests on the bundled roster, explained."""

from __future__ import annotations

import click

from roster import Roster
from router.block import suggestion_block
from router.commands.options import load_router

REQUESTS = (
    "Turn the outline in talk.md into a new slide deck with our template, one idea per slide.",
    "The checkout page got slow after Tuesday's release; put the previous version back in prod.",
    "What is the difference between a merge and a rebase?",
)


@click.command()
def demo() -> None:
    """Show what the router does with three requests on the bundled roster."""
    roster = Roster.bundled()
    categories = len({skill.category for skill in roster})
    prompt = len(roster.prompt())
    click.echo(
        f"{len(roster)} skills in {categories} categories; their index is {prompt:,} bytes\n"
    )
    router = load_router(roster, None, None, None, None)
    for request in REQUESTS:
        suggestion = router.suggest(request)
        click.echo(f'"{request}"')
        click.echo(str(suggestion))
        click.echo(f"  the agent reads: {suggestion_block(suggestion).split(chr(10))[3]}\n")
