"""One training step of the pair scorer: some turns, each with a few skills of its roster."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from eval.train.errors import TrainError
from eval.train.pair_data import TokenSource, padded
from eval.train.pair_model import PairModel
from eval.train.sampling import Cycle, rng_state, set_rng_state

CANDIDATES = 5
"""Skills a request is read with."""
TAKEN_AWAY = 0.2
"""Share of covered turns whose right skill is left out: the best of the rest is a near miss."""
FIT = 0.5
"""Weight of the single pair (does this skill do it?) beside the choice."""


class PairScorerStage:
    """Labelled turns with skills that look right.

    Args:
        sources: Labelled rosters as token vectors.
        batch: Turns a step.
        seed: Seed of the draws.

    Raises:
        TrainError: If no turn is covered.
    """

    def __init__(self, sources: Sequence[TokenSource], batch: int, seed: int) -> None:
        self._sources = sources
        self._batch = batch
        self._rng = random.Random(seed)
        turns = [(s, i) for s, source in enumerate(sources) for i in range(len(source.gold))]
        if all(self._sources[s].gold[i] < 0 for s, i in turns):
            raise TrainError("no labelled turn of the training groups is covered")
        self._turns = Cycle(turns, self._rng)

    def losses(self, model: PairModel) -> tuple[Tensor, Tensor]:
        """Losses of the next batch: of the choice, silence among it, and of single pairs."""
        drawn = [self._turns.draw() for _ in range(self._batch)]
        lists = [self._candidates(self._sources[s], i) for s, i in drawn]
        logits = pair_logits(
            model,
            [(self._sources[s], i, row) for (s, i), rows in zip(drawn, lists, strict=True)
             for row in rows],
        )  # fmt: skip
        choice, single, start = [], [], 0
        for (s, i), rows in zip(drawn, lists, strict=True):
            own = logits[start : start + len(rows)]
            start += len(rows)
            gold = self._sources[s].gold[i]
            labels = torch.tensor([float(row == gold) for row in rows])
            target = rows.index(gold) if gold in rows else len(rows)
            with_silence = torch.cat([own, own.new_zeros(1)])
            choice.append(functional.cross_entropy(with_silence[None], torch.tensor([target])))
            single.append(functional.binary_cross_entropy_with_logits(own, labels))
        return torch.stack(choice).mean(), FIT * torch.stack(single).mean()

    def _candidates(self, source: TokenSource, turn: int) -> list[int]:
        gold, near = source.gold[turn], source.near[turn]
        others = [row for row in source.alike[turn] if row != gold]
        rows = [gold] if gold >= 0 and self._rng.random() >= TAKEN_AWAY else []
        if gold < 0 and near >= 0:
            rows.append(near)
            others = [row for row in others if row != near]
        room = CANDIDATES - len(rows)
        first, rest = others[:2], others[2:]
        return rows + first + self._rng.sample(rest, max(0, min(len(rest), room - len(first))))

    def state(self) -> dict[str, Any]:
        """Where the draws are."""
        return {"rng": rng_state(self._rng), "turns": self._turns.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        set_rng_state(self._rng, state["rng"])
        self._turns.restore(state["turns"])


def pair_logits(model: PairModel, pairs: Sequence[tuple[TokenSource, int, int]]) -> Tensor:
    """Logits of (roster, turn, row of a skill) triples, (m,)."""
    request, asked = padded([source.requests[turn] for source, turn, _ in pairs])
    importance, _ = padded([source.importance[turn] for source, turn, _ in pairs])
    presence, _ = padded([source.presence(turn, row) for source, turn, row in pairs])
    skill, said = padded([source.skills[row] for source, _, row in pairs])
    logits: Tensor = model(request, importance, presence, asked, skill, said)
    return logits
