"""`skill-router train pair-scorer`: the model that rereads the shortlist."""

from __future__ import annotations

from pathlib import Path

import click

from eval.commands.numbers import number
from eval.commands.train_encoder import ABOUT_PAIRS, finish, step_progress
from eval.commands.train_folds import by_group
from eval.commands.train_options import data_options


@click.command("pair-scorer")
@data_options
@click.option(
    "--groups",
    metavar="NAMES",
    help="Rosters to train on: names or patterns with commas between, such as '0?,1[0-5]'. The "
    "others are for the scores.  [default: all but the bundled one]",
)
@click.option(
    "--encoder", "encoder_name", metavar="NAME", help="The encoder it is for.  [default: shipped]"
)
@click.option(
    "--out-of-fold",
    metavar="FILE",
    help="JSON: group to folder of an encoder that was trained without that group.",
)
@click.option("--steps", type=click.IntRange(1), default=900, show_default=True)
@click.option("--batch", type=click.IntRange(2, 4096), default=32, show_default=True)
@click.option("--learning-rate", type=number(0.0, 1.0, above=True), default=1e-3, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)
@click.option("--threads", type=click.IntRange(1, 1024), default=2, show_default=True)
@click.option(
    "--checkpoint-every",
    "every",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    metavar="STEPS",
)
@click.option("--out", required=True, metavar="DIR", help="Where checkpoint.pt and card.md go.")
def pair_scorer(
    folders: tuple[str, ...],
    archive: str | None,
    groups: str | None,
    encoder_name: str | None,
    out_of_fold: str | None,
    steps: int,
    batch: int,
    learning_rate: float,
    seed: int,
    threads: int,
    every: int,
    out: str,
) -> None:
    """Train a pair scorer. The same command again goes on from the last checkpoint."""
    import torch

    from eval.train.encoder import source_digests
    from eval.train.loop import Settings
    from eval.train.pair_data import token_sources
    from eval.train.pair_scorer import STAGE, train_pair_scorer
    from eval.train.sources import BUNDLED, find_sources, pick_groups
    from router.local.encoder import load_encoder

    if not folders and archive is None:
        raise click.UsageError(
            "a pair scorer is trained on labelled rosters; give --data or --archive"
        )
    torch.set_num_threads(threads)
    sources = find_sources(folders, archive)
    chosen = [source for source in sources if source.group != BUNDLED]
    if groups is not None:
        chosen = pick_groups(chosen, [name.strip() for name in groups.split(",")])
    encoder = load_encoder(encoder_name)
    others = by_group(out_of_fold, load_encoder)
    encoded = token_sources(sources, encoder, others, lambda line: click.echo(line, err=True))
    trained_on = {source.group for source in chosen}
    made_from = {
        "encoder": encoder.digest,
        "encoders_out_of_fold": sorted({other.digest for other in others.values()}),
        "groups": source_digests(chosen),
    }
    with step_progress(steps) as on_step:
        done = train_pair_scorer(
            Settings(STAGE, steps, batch, learning_rate, seed),
            made_from,
            out,
            train_on=[source for source in encoded if source.group in trained_on],
            score_on=[source for source in encoded if source.group not in trained_on],
            every=every,
            on_step=on_step,
        )
    finish(Path(out).expanduser(), "pair scorer", done.made_of, done.scores, ABOUT_PAIRS)
