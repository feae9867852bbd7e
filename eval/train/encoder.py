"""`train encoder`: the training loop of both stages, which goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from eval.data import requests_digest
from eval.train.checkpoint import (
    FILE,
    Checkpoint,
    load_checkpoint,
    load_start,
    weights_digest,
)
from eval.train.dense import dense_scores
from eval.train.errors import TrainError
from eval.train.labelled import find_wrong
from eval.train.loop import Loop, OnStep, Settings
from eval.train.model import has_bf16
from eval.train.pairs import read_pairs
from eval.train.sampling import PairSampler
from eval.train.sources import Source
from eval.train.stages import LabelledStage, PairStage, Stage

_MOST_HELD_OUT = 6


def held_out(sources: Sequence[Source]) -> list[Source]:
    """At most six of some sources, evenly spaced."""
    return list(sources[:: max(1, len(sources) // _MOST_HELD_OUT)][:_MOST_HELD_OUT])


def train_encoder(
    settings: Settings,
    pairs: str | Path,
    init: str,
    out: str | Path,
    *,
    train_on: Sequence[Source] = (),
    score_on: Sequence[Source] = (),
    every: int = 50,
    on_step: OnStep = lambda step, pooled, late: None,
) -> Checkpoint:
    """Train, or go on with training that was stopped.

    Args:
        settings: What to do.
        pairs: A pairs file.
        init: What to start from; see `load_start`.
        out: Folder of the checkpoint; made when missing. When it holds a checkpoint of the same
            run, training goes on there and ends as if it had never been stopped.
        train_on: Labelled rosters (stage "labelled" only).
        score_on: Rosters for the scores; none of `train_on`.
        every: Steps between checkpoints.
        on_step: Told the step's number and its losses by pooled vectors and late interaction.

    Returns:
        The finished checkpoint, which also lies in `out`.

    Raises:
        TrainError: If the data does not suffice, the loss is no number, or `out` holds a
            checkpoint of another run.
    """
    if (settings.stage == "labelled") != bool(train_on):
        raise TrainError("give labelled rosters for the stage labelled, and none for pairs")
    path = Path(out).expanduser() / FILE
    make_folder(path.parent)
    torch.manual_seed(settings.seed)
    skills, pairs_digest = read_pairs(pairs)
    start = load_start(init)
    made_of = {
        **asdict(settings),
        "start": weights_digest(start.state_dict()),
        "init": Path(init).name,
        "pairs": pairs_digest,
        "groups": source_digests(train_on),
    }
    if path.exists():
        before = load_checkpoint(path)
        same_run(made_of, before.made_of, path)
        if before.scores:
            return before
        model = before.model()
    else:
        before, model = None, start
    model.bf16 = has_bf16() if before is None else bool(before.progress["bf16"])
    sampler = PairSampler(skills, settings.seed)
    stage: Stage
    if settings.stage == "pairs":
        stage = PairStage(sampler, settings.batch)
    else:
        wrong = before.progress["draws"]["wrong"] if before else find_wrong(model, train_on)
        stage = LabelledStage(train_on, wrong, sampler, settings.batch, settings.seed)
    loop = Loop(settings, model, stage)
    if before is not None:
        loop.restore(before.progress)
    while loop.step < settings.steps:
        on_step(loop.step + 1, *loop.advance())
        if loop.step % every == 0 and loop.step < settings.steps:
            loop.checkpoint(made_of).save(path)
    finished = loop.checkpoint(made_of)
    finished.scores = {**loop.summary(), **dense_scores(model, held_out(score_on))}
    finished.save(path)
    return finished


def make_folder(folder: Path, option: str = "--out") -> None:
    """Make a folder, or raise a `TrainError` that names the option it came from."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainError(
            f"{folder}: cannot be made ({error.strerror}); give another {option}"
        ) from error


def source_digests(sources: Sequence[Source]) -> dict[str, list[str]]:
    """Digests of each source's roster and turns, by group."""
    return {s.group: [s.roster.digest[:16], requests_digest(s.turns)[:16]] for s in sources}


def same_run(asked: Mapping[str, Any], found: Mapping[str, Any], path: Path) -> None:
    """Raise `TrainError` when a checkpoint belongs to another run than the one asked for."""
    keys = {*asked, *found} - {"init"}  # where the start lies is no matter; `start` digests it
    other = sorted(key for key in keys if asked.get(key) != found.get(key))
    if other:
        raise TrainError(
            f"{path}: is a checkpoint of another run (differs in {', '.join(other)}); give the "
            "options it was started with, or another --out"
        )
