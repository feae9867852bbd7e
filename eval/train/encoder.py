"""`train encoder`: the training loop of both stages, which goes on where it was stopped."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from eval.data import requests_digest
from eval.train.checkpoint import (
    FILE,
    Checkpoint,
    checkpoint_of,
    load_checkpoint,
    load_start,
    weights_digest,
)
from eval.train.dense import dense_scores
from eval.train.errors import TrainError
from eval.train.labelled import find_wrong
from eval.train.model import TokenEncoder, has_bf16
from eval.train.pairs import read_pairs
from eval.train.sampling import PairSampler
from eval.train.sources import Source
from eval.train.stages import LabelledStage, PairStage, Stage

OnStep = Callable[[int, float, float], None]

SMALL_RATE = 15.0
"""What starts from nothing learns at this multiple of the body's rate."""
WARM_UP, LEAST_RATE = 0.06, 0.03
_MOST_HELD_OUT = 6


@dataclass(frozen=True)
class Settings:
    """What a run is asked for.

    Attributes:
        stage: "pairs" or "labelled".
        steps: Steps in all.
        batch: Pairs, or labelled turns, a step.
        learning_rate: Highest rate of the body.
        seed: Seed of everything random.
    """

    stage: str
    steps: int
    batch: int
    learning_rate: float
    seed: int = 1


def rate(step: int, steps: int) -> float:
    """Share of the highest learning rate at a step: up over 6 %, then down a line to 3 %."""
    return min(1.0, (step + 1) / (steps * WARM_UP + 1)) * max(LEAST_RATE, 1 - step / steps)


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
    _make_folder(path.parent)
    torch.manual_seed(settings.seed)
    skills, pairs_digest = read_pairs(pairs)
    start = load_start(init)
    made_of = {
        **asdict(settings),
        "start": weights_digest(start.state_dict()),
        "init": Path(init).name,
        "pairs": pairs_digest,
        "groups": _digests(train_on),
    }
    if path.exists():
        before = load_checkpoint(path)
        _same_run(made_of, before.made_of, path)
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
    loop = _Loop(settings, model, stage)
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


class _Loop:
    """Model, optimizer and stage, one step at a time."""

    def __init__(self, settings: Settings, model: TokenEncoder, stage: Stage) -> None:
        self.step = 0
        self.history: list[tuple[float, float]] = []
        self._settings = settings
        self._model = model
        self._stage = stage
        small = model.small_parameters()
        own = {id(parameter) for parameter in small}
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        body = [p for p in self._parameters if id(p) not in own]
        self._rates = (settings.learning_rate, settings.learning_rate * SMALL_RATE)
        groups: list[dict[str, Any]] = [{"params": body}, {"params": small}]
        self._optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, weight_decay=0.01)

    def advance(self) -> tuple[float, float]:
        """Do one step and give its two losses."""
        share = rate(self.step, self._settings.steps)
        for group, highest in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = highest * share
        self._model.train()
        pooled, late = self._stage.losses(self._model)
        losses = (float(pooled.detach()), float(late.detach()))
        if not all(math.isfinite(loss) for loss in losses):
            raise TrainError(
                f"step {self.step + 1}: the loss is {losses}; lower --learning-rate and start in "
                "a new --out"
            )
        self._optimizer.zero_grad()
        (pooled + late).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._optimizer.step()
        self.step += 1
        self.history.append(losses)
        return losses

    def checkpoint(self, made_of: dict[str, Any]) -> Checkpoint:
        """A checkpoint from which `restore` can go on."""
        checkpoint = checkpoint_of(self._model, made_of)
        checkpoint.progress = {
            "step": self.step,
            "bf16": self._model.bf16,
            "history": [list(losses) for losses in self.history],
            "optimizer": self._optimizer.state_dict(),
            "torch_rng": torch.get_rng_state(),
            "draws": self._stage.state(),
        }
        return checkpoint

    def restore(self, progress: Mapping[str, Any]) -> None:
        """Go on from a checkpoint's progress."""
        self.step = int(progress["step"])
        self.history = [(float(a), float(b)) for a, b in progress["history"]]
        self._optimizer.load_state_dict(dict(progress["optimizer"]))
        self._stage.restore(progress["draws"])
        torch.set_rng_state(progress["torch_rng"])

    def summary(self) -> dict[str, Any]:
        """Mean losses of the first and of the last steps."""
        first, last = self.history[:20], self.history[-20:]
        return {
            "steps": self.step,
            "loss_of_first_steps": _mean(first),
            "loss_of_last_steps": _mean(last),
        }


def _mean(losses: Sequence[tuple[float, float]]) -> float:
    return round(sum(map(sum, losses)) / max(1, len(losses)), 4)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainError(
            f"{folder}: cannot be made ({error.strerror}); give another --out"
        ) from error


def _digests(sources: Sequence[Source]) -> dict[str, list[str]]:
    return {s.group: [s.roster.digest[:16], requests_digest(s.turns)[:16]] for s in sources}


def _same_run(asked: Mapping[str, Any], found: Mapping[str, Any], path: Path) -> None:
    keys = {*asked, *found} - {"init"}  # where the start lies is no matter; `start` digests it
    other = sorted(key for key in keys if asked.get(key) != found.get(key))
    if other:
        raise TrainError(
            f"{path}: is a checkpoint of another run (differs in {', '.join(other)}); give the "
            "options it was started with, or another --out"
        )
