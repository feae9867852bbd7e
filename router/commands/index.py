"""`skill-router index`: make the index of a roster ahead of its first use."""

from __future__ import annotations

import sys
import time

import click

from router.cli import print_json
from router.commands.options import load_roster, load_router


@click.command()
@click.option(
    "--roster",
    "roster_path",
    required=True,
    metavar="PATH",
    help="A folder searched for SKILL.md, or a .json or .jsonl file.",
)
@click.option(
    "--duplicates",
    type=click.Choice(["error", "first", "namespace"]),
    default="namespace",
    show_default=True,
    help="What to do with skills of one name.",
)
@click.option("--encoder", metavar="NAME", help='"minilm", a folder, or a model\'s name.')
@click.option("--cache", metavar="DIR", help="Folder of the index cache.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Workers that embed."
)
def index(
    roster_path: str, duplicates: str, encoder: str | None, cache: str | None, jobs: int
) -> None:
    """Embed and index a roster, so that the first turn need not wait; a stopped run goes on.

    The pace goes to the error stream, and what was done is printed as JSON.
    """
    from joblib import parallel_config

    from router.index.bulk import Pace
    from router.index.load import embed_roster
    from router.index.look import LARGE

    roster = load_roster(roster_path, duplicates)
    texts, started = 0, time.perf_counter()

    def told(pace: Pace) -> None:
        click.echo(str(pace), err=True)
        sys.stderr.flush()

    if len(roster) > LARGE:
        texts = embed_roster(roster, encoder, cache, jobs, told)
    embedded = time.perf_counter()
    with parallel_config(n_jobs=jobs):
        load_router(roster, None, encoder, None, cache)
    print_json(
        {
            "skills": len(roster),
            "texts_embedded": texts,
            "embed_s": round(embedded - started, 1),
            "index_s": round(time.perf_counter() - embedded, 1),
        }
    )
