"""`skill-router train pair-scorer`: the model that rereads the shortlist."""

from __future__ import annotations

from pathlib import Path

import click

from eval.commands.numbers import number
from eval.commands.train_encoder import ABOUT_PAIRS, finish, step_progress


@click.command("pair-scorer")
@click.option("--pairs", "pairs_file", required=True, metavar="FILE", help="From `train pairs`.")
@click.option(
    "--data", "folders", multiple=True, metavar="DIR", help="Rosters with labelled turns; repeat."
)
@click.option(
    "--archive", metavar="DIR", help="Unpacked skill folders that requests/community lists."
)
@click.option(
    "--groups",
    metavar="NAMES",
    help="Rosters to train on: names or patterns with commas between, such as '0?,1[0-5]'. The "
    "others are for the scores.  [default: all but the bundled one]",
)
@click.option(
    "--init",
    required=True,
    metavar="CHECKPOINT",
    help="The encoder whose body it starts from: a checkpoint of `train encoder`, or its folder.",
)
@click.option("--steps", type=click.IntRange(1), default=450, show_default=True)
@click.option("--batch", type=click.IntRange(4, 4096), default=9, show_default=True)
@click.option("--learning-rate", type=number(0.0, 1.0, above=True), default=5e-5, show_default=True)
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
    pairs_file: str,
    folders: tuple[str, ...],
    archive: str | None,
    groups: str | None,
    init: str,
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

    from eval.train.loop import Settings
    from eval.train.pair_scorer import STAGE, train_pair_scorer
    from eval.train.sources import BUNDLED, find_sources, pick_groups

    if not folders and archive is None:
        raise click.UsageError(
            "a pair scorer is trained on labelled rosters; give --data or --archive"
        )
    torch.set_num_threads(threads)
    sources = find_sources(folders, archive, small_talk=False)
    chosen = [source for source in sources if source.group != BUNDLED]
    if groups is not None:
        chosen = pick_groups(chosen, [name.strip() for name in groups.split(",")])
    trained_on = {source.group for source in chosen}
    with step_progress(steps) as on_step:
        done = train_pair_scorer(
            Settings(STAGE, steps, batch, learning_rate, seed),
            pairs_file,
            init,
            out,
            train_on=chosen,
            score_on=[source for source in sources if source.group not in trained_on],
            every=every,
            on_step=on_step,
        )
    finish(Path(out).expanduser(), "pair scorer", done.made_of, done.scores, ABOUT_PAIRS)
