"""`skill-router train pairs|encoder|average|export`: the stages before the heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from eval.commands.numbers import number
from eval.commands.train_options import data_options
from router.cli import print_json

CARD = "card.md"
DEFAULTS = {"pairs": (300, 48, 7e-5), "labelled": (150, 32, 5e-5)}
"""Steps, batch and learning rate of each stage."""
ABOUT = (
    "Turns requests and skills into vectors. No text of any skill or request is in the file.\n"
    "Hits are of the encoder alone, on rosters whose labelled turns it was not trained on:\n"
    "the bundled one, and after `train encoder` up to five more that were held out."
)
ABOUT_PAIRS = (
    "Reads a request and a skill together. No text of any skill or request is in the file.\n"
    "Scores are of the scorer alone, on turns of rosters it was not trained on."
)


@click.command("pairs")
@click.option("--archive", required=True, metavar="DIR", help="Any folder of SKILL.md files.")
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATH",
    help="A roster whose skills are left out, by name and by text; repeat.",
)
@click.option("--out", default="pairs.jsonl", show_default=True, metavar="FILE")
def pairs(archive: str, exclude: tuple[str, ...], out: str) -> None:
    """Find the requests that skills' own texts spell out, as (request, skill) pairs."""
    from eval.train.encoder_card import write_stage_card
    from eval.train.pairs import mine_pairs, write_pairs

    path = Path(out).expanduser()
    mined = mine_pairs(archive, exclude)
    digest = write_pairs(mined.skills, path)
    scores: dict[str, Any] = {
        "skills": len(mined.skills),
        "requests": sum(mined.kinds.values()),
        **{f"requests_{kind}": count for kind, count in mined.kinds.items()},
        "skills_excluded": mined.left_out,
        "skills_too_short": mined.too_short,
    }
    made_of = {"stage": "mining", "pairs": digest, "exclude": [Path(p).name for p in exclude]}
    about = "Requests found in skills' own texts. The file holds those texts: do not publish it."
    write_stage_card(path.with_suffix(".md"), path.name, about, made_of, scores)
    print_json({"pairs": digest, **scores})


@click.command("encoder")
@click.option("--stage", type=click.Choice(list(DEFAULTS)), required=True)
@click.option("--pairs", "pairs_file", required=True, metavar="FILE", help="From `train pairs`.")
@data_options
@click.option(
    "--groups",
    metavar="NAMES",
    help="Rosters to train on: names or patterns with commas between, such as '0?,1[0-5]'. The "
    "others are for the scores.  [default: all but the bundled one]",
)
@click.option(
    "--init",
    default="minilm",
    show_default=True,
    metavar="START",
    help="A checkpoint, its folder, or a folder with a transformers model.",
)
@click.option("--steps", type=click.IntRange(1), help="[default: 300 for pairs, 150 for labelled]")
@click.option("--batch", type=click.IntRange(2, 4096), help="[default: 48, 32]")
@click.option("--learning-rate", type=number(0.0, 1.0, above=True), help="[default: 7e-5, 5e-5]")
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
def encoder(
    stage: str,
    pairs_file: str,
    folders: tuple[str, ...],
    archive: str | None,
    groups: str | None,
    init: str,
    steps: int | None,
    batch: int | None,
    learning_rate: float | None,
    seed: int,
    threads: int,
    every: int,
    out: str,
) -> None:
    """Tune an encoder. The same command again goes on from the last checkpoint."""
    if stage == "pairs" and groups is not None:
        raise click.UsageError("--groups is for --stage labelled; pairs trains on none of them")
    import torch

    from eval.train.encoder import train_encoder
    from eval.train.loop import Settings
    from eval.train.sources import BUNDLED, find_sources, pick_groups

    torch.set_num_threads(threads)
    sources = find_sources(folders, archive, small_talk=False)
    others = [source for source in sources if source.group != BUNDLED]
    chosen = [] if stage == "pairs" else others
    if groups is not None:  # never the bundled roster: every stage's scores are from it
        chosen = pick_groups(others, [name.strip() for name in groups.split(",")])
    if stage == "labelled" and not chosen:
        raise click.UsageError("--stage labelled needs --data or --archive")
    usual = DEFAULTS[stage]
    settings = Settings(
        stage, steps or usual[0], batch or usual[1], learning_rate or usual[2], seed
    )
    trained_on = {source.group for source in chosen}
    with step_progress(settings.steps) as on_step:
        done = train_encoder(
            settings,
            pairs_file,
            init,
            out,
            train_on=chosen,
            score_on=[source for source in sources if source.group not in trained_on],
            every=every,
            on_step=on_step,
        )
    finish(Path(out).expanduser(), f"encoder, stage {stage}", done.made_of, done.scores)


@click.command("average")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--out", required=True, metavar="DIR", help="Where checkpoint.pt and card.md go.")
def average(first: str, second: str, out: str) -> None:
    """The mean of two checkpoints that were trained from the same start."""
    from eval.train.checkpoint import FILE, load_checkpoint
    from eval.train.checkpoint import average as mean
    from eval.train.dense import dense_scores
    from eval.train.errors import TrainError
    from eval.train.sources import find_sources

    averaged = mean(load_checkpoint(first), load_checkpoint(second))
    averaged.scores = dense_scores(averaged.model(), find_sources([], small_talk=False))
    folder = Path(out).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainError(f"{folder}: cannot be made ({error.strerror})") from error
    averaged.save(folder / FILE)
    finish(folder, "encoder, averaged", averaged.made_of, averaged.scores)


@click.command("export")
@click.argument("checkpoint")
@click.option("--name", default="skill-router", show_default=True, help="Name in the card.")
@click.option(
    "--scripts",
    default="greek,latin",
    show_default=True,
    metavar="NAMES",
    help="Scripts that an encoder was trained on; text of skills in others is left out of its "
    "index. 'all' for a multilingual one.",
)
@click.option(
    "--fp32", metavar="DIR", help="Also write an encoder in fp32, for `python -m eval.int8`."
)
@click.option("--out", required=True, metavar="DIR", help="A folder that --encoder takes.")
def export(checkpoint: str, name: str, scripts: str, fp32: str | None, out: str) -> None:
    """Write an encoder or a pair scorer as ONNX int8, which the router loads without torch."""
    from eval.train.checkpoint import load_checkpoint
    from eval.train.export import export_encoder
    from eval.train.export_pair_scorer import export_pair_scorer
    from eval.train.sources import find_sources

    loaded = load_checkpoint(checkpoint)
    made_of = {"weights": loaded.digest, **loaded.made_of}
    if loaded.token_dimension:
        served = [script.strip().lower() for script in scripts.split(",") if script.strip()]
        exported = export_encoder(
            loaded,
            out,
            name,
            find_sources([], small_talk=False),
            None if served in ([], ["all"]) else served,
            fp32,
        )
        what, about = f"encoder {name}, ONNX int8", ABOUT
    elif fp32 is not None:
        raise click.UsageError("--fp32 is for encoders; a pair scorer is not quantized")
    else:
        exported = export_pair_scorer(loaded, out, name)
        what, about = f"pair scorer {name}, ONNX", ABOUT_PAIRS
    finish(exported.folder, what, made_of, {**exported.card, **exported.scores}, about)


def finish(
    folder: Path, what: str, made_of: dict[str, Any], scores: dict[str, Any], about: str = ABOUT
) -> None:
    """Write the card of a stage and print its scores."""
    from eval.train.encoder_card import write_stage_card

    write_stage_card(folder / CARD, what, about, made_of, scores)
    print_json(scores)


@contextmanager
def step_progress(steps: int) -> Iterator[Callable[[int, float, float], None]]:
    """A bar on stderr; one line every twenty steps where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("loss {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("-", total=steps)

        def on_step(step: int, pooled: float, late: float) -> None:
            bar.update(task, completed=step, description=f"{pooled:.3f} {late:.3f}")
            if not console.is_terminal and (step % 20 == 0 or step == steps):
                click.echo(f"step {step}/{steps}: loss {pooled:.3f} {late:.3f}", err=True)

        yield on_step
