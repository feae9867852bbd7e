"""`skill-router train`: one command a stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from eval.commands.outputs import check_outputs
from eval.commands.train_encoder import average, encoder, export, pairs
from eval.commands.train_folds import by_group
from eval.commands.train_options import data_options
from eval.commands.train_pair_scorer import pair_scorer


@click.group()
def train() -> None:
    """Train what the local judge has learned, one stage at a time."""


train.add_command(pairs)
train.add_command(encoder)
train.add_command(average)
train.add_command(pair_scorer)
train.add_command(export)


@train.command("heads")
@data_options
@click.option(
    "--languages",
    is_flag=True,
    help="Also learn from the bundled roster's turns in Chinese, Japanese, Spanish, German and "
    "French: for an encoder that serves them.",
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
@click.option(
    "--folds-out",
    metavar="FILE",
    help="Also learn heads without each fifth of the rosters, for `tune-band`: JSON, group to "
    "file; the files lie beside it.",
)
@click.option("--out", required=True, metavar="FILE", help="Where the heads are written.")
def heads(
    folders: tuple[str, ...],
    archive: str | None,
    languages: bool,
    encoder: str | None,
    out_of_fold: str | None,
    reranker: str | None,
    reranker_out_of_fold: str | None,
    needless: float,
    shortlist: int,
    seed: int,
    folds_out: str | None,
    out: str,
) -> None:
    """Learn fusion, gate, fits and default thresholds, and cross-validate them over rosters.

    Without --data and --archive: on the bundled roster alone, in three parts.
    """
    from eval.train.card import write_card
    from eval.train.heads import train_heads, write_folds, write_heads
    from eval.train.parts import sources_for_heads
    from router.local.encoder import load_encoder
    from router.local.pair_scorer import load_pair_scorer

    path = Path(out).expanduser()
    folds = None if folds_out is None else Path(folds_out).expanduser()
    check_outputs(out, folds_out)
    trained = train_heads(
        sources_for_heads(folders, archive, languages),
        load_encoder(encoder),
        out_of_fold=by_group(out_of_fold, load_encoder),
        scorer=None if reranker is None else load_pair_scorer(reranker),
        scorers_out_of_fold=by_group(reranker_out_of_fold, load_pair_scorer),
        needless_at_most=needless,
        shortlist=shortlist,
        seed=seed,
        also_folds=folds is not None,
        report=lambda line: click.echo(line, err=True),
    )
    write_heads(trained.heads, path)
    if folds is not None:
        write_folds(trained, folds)
    write_card(trained, path)
    report: dict[str, Any] = {"thresholds": trained.heads.thresholds, **trained.scores}
    if trained.heads.reread is not None:
        report["reread"] = {"thresholds": trained.heads.reread.thresholds, **trained.reread}
    click.echo(json.dumps(report, indent=2))
