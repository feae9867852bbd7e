"""`skill-router train`: one command a stage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from eval.commands.train_encoder import average, encoder, export, pairs
from eval.commands.train_pair_scorer import pair_scorer

Loaded = TypeVar("Loaded")


@click.group()
def train() -> None:
    """Train what the local judge has learned, one stage at a time."""


train.add_command(pairs)
train.add_command(encoder)
train.add_command(average)
train.add_command(pair_scorer)
train.add_command(export)


@train.command("heads")
@click.option(
    "--data", "folders", multiple=True, metavar="DIR", help="Rosters with labelled turns; repeat."
)
@click.option(
    "--archive", metavar="DIR", help="Unpacked skill folders that requests/community lists."
)
@click.option(
    "--encoder", metavar="NAME", help="The encoder the heads are for.  [default: shipped]"
)
@click.option(
    "--out-of-fold",
    metavar="FILE",
    help="JSON: group to folder of an encoder that was trained without that group.",
)
@click.option(
    "--reranker",
    metavar="NAME",
    help="The pair scorer that reads the shortlist: a folder from `train export`, or a "
    "CrossEncoder by folder or name.  [default: none]",
)
@click.option(
    "--reranker-out-of-fold",
    metavar="FILE",
    help="The same as --out-of-fold for the pair scorer.",
)
@click.option("--needless", default=0.13, show_default=True, help="Bound on needless suggestions.")
@click.option("--shortlist", default=3, show_default=True, help="Default size of the shortlist.")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", required=True, metavar="FILE", help="Where the heads are written.")
def heads(
    folders: tuple[str, ...],
    archive: str | None,
    encoder: str | None,
    out_of_fold: str | None,
    reranker: str | None,
    reranker_out_of_fold: str | None,
    needless: float,
    shortlist: int,
    seed: int,
    out: str,
) -> None:
    """Learn fusion, gate, fits and default thresholds, and cross-validate them over rosters."""
    from eval.train.card import write_card
    from eval.train.heads import train_heads, write_heads
    from eval.train.sources import find_sources
    from router.local.encoder import load_encoder
    from router.local.pair_scorer import load_pair_scorer

    path = Path(out).expanduser()
    if not path.parent.is_dir():
        raise click.ClickException(f"{path.parent}: no such folder; make it first")
    trained = train_heads(
        find_sources(folders, archive),
        load_encoder(encoder),
        out_of_fold=_by_group(out_of_fold, load_encoder),
        scorer=None if reranker is None else load_pair_scorer(reranker),
        scorers_out_of_fold=_by_group(reranker_out_of_fold, load_pair_scorer),
        needless_at_most=needless,
        shortlist=shortlist,
        seed=seed,
        report=lambda line: click.echo(line, err=True),
    )
    write_heads(trained, path)
    write_card(trained, path)
    report: dict[str, Any] = {"thresholds": trained.heads.thresholds, **trained.scores}
    if trained.heads.reread is not None:
        report["reread"] = {"thresholds": trained.heads.reread.thresholds, **trained.reread}
    click.echo(json.dumps(report, indent=2))


def _by_group(path: str | None, load: Callable[[str], Loaded]) -> dict[str, Loaded]:
    """What a JSON object of group to folder names, each folder loaded once."""
    if path is None:
        return {}
    try:
        folders = dict(json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise click.ClickException(
            f"{path}: cannot be read as a JSON object of group to folder ({error})"
        ) from error
    loaded = {folder: load(folder) for folder in dict.fromkeys(folders.values())}
    return {group: loaded[folder] for group, folder in folders.items()}
