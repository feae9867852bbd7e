"""The training loop: one model, its optimizer and its batches; it goes on where it stopped."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from eval.train.checkpoint import Checkpoint, checkpoint_of
from eval.train.errors import TrainError
from eval.train.model import TokenEncoder
from eval.train.pair_model import PairModel

OnStep = Callable[[int, float, float], None]

SMALL_RATE = 15.0
"""What starts from nothing learns at this multiple of the body's rate."""
WARM_UP, LEAST_RATE = 0.06, 0.03


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


class Batches(Protocol):
    """What a loop asks of a stage."""

    def losses(self, model: Any) -> tuple[Tensor, Tensor]:
        """The two losses of the next batch; both are minimized."""
        ...

    def state(self) -> dict[str, Any]:
        """Where the draws are, as plain data."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        ...


class Loop:
    """Model, optimizer and stage, one step at a time.

    Args:
        settings: What to do.
        model: A `TokenEncoder` or a `PairModel`.
        stage: Draws its batches.
    """

    def __init__(self, settings: Settings, model: TokenEncoder | PairModel, stage: Batches) -> None:
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
