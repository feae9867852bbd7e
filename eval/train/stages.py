"""One training step of each stage: draw a batch, give its two losses."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from eval.train.contrast import Fits, pair_loss, roster_loss
from eval.train.labelled import NEAR_KINDS, Example, as_examples
from eval.train.model import TokenEncoder
from eval.train.sampling import Cycle, PairSampler, random_start, rng_state, set_rng_state, view
from eval.train.sources import Source

PAIR_TOKENS = (40, 112)
"""Most tokens of a request and of a document in the stage `pairs`."""
LABELLED_TOKENS = (48, 120)
"""The same in the stage `labelled`."""
PAIRS_A_STEP = 12
"""Phrase pairs in each step of the stage `labelled`, so that it forgets none of the first."""
COVERED, NEAR = 0.6, 0.3
"""Shares of a labelled batch; the rest are turns far from any skill."""


class Stage(Protocol):
    """What a training loop asks of a stage."""

    def losses(self, model: TokenEncoder) -> tuple[Tensor, Tensor]:
        """Losses of the next batch, by pooled vectors and by late interaction."""
        ...

    def state(self) -> dict[str, Any]:
        """Where the draws are, as plain data."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        ...


class PairStage:
    """Phrase pairs against the other pairs of the batch."""

    def __init__(self, pairs: PairSampler, batch: int) -> None:
        self._pairs = pairs
        self._batch = batch

    def losses(self, model: TokenEncoder) -> tuple[Tensor, Tensor]:
        """Losses of the next batch."""
        drawn = self._pairs.batch(self._batch)
        query = model.vectors([request for request, _ in drawn], PAIR_TOKENS[0])
        return pair_loss(model, query, model.vectors([text for _, text in drawn], PAIR_TOKENS[1]))

    def state(self) -> dict[str, Any]:
        """Where the draws are."""
        return {"pairs": self._pairs.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self._pairs.restore(state["pairs"])


class LabelledStage:
    """Labelled turns, each with one skill that looks right, and some phrase pairs.

    Args:
        sources: Rosters with labelled turns.
        wrong: For each of their turns the skills that look right, from `find_wrong`.
        pairs: Draws the phrase pairs.
        batch: Labelled turns a step, 2 or more.
        seed: Seed of the draws.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        wrong: Sequence[Sequence[int]],
        pairs: PairSampler,
        batch: int,
        seed: int,
    ) -> None:
        self._skills = [list(source.roster) for source in sources]
        self._pairs = pairs
        self._rng = random.Random(seed)
        self._wrong = [list(rows) for rows in wrong]
        examples = as_examples(sources, wrong)
        uncovered = [e for e in examples if e.gold is None]
        self._cycles = [
            Cycle([e for e in examples if e.gold is not None], self._rng),
            Cycle([e for e in uncovered if e.kind in NEAR_KINDS], self._rng),
            Cycle([e for e in uncovered if e.kind not in NEAR_KINDS], self._rng),
        ]
        covered, near = int(batch * COVERED), int(batch * NEAR)
        self._counts = [covered, near, batch - covered - near]
        for empty, heir in ((1, 2), (2, 1), (1, 0), (2, 0)):
            if not len(self._cycles[empty]) and len(self._cycles[heir]):
                self._counts[heir] += self._counts[empty]
                self._counts[empty] = 0

    def losses(self, model: TokenEncoder) -> tuple[Tensor, Tensor]:
        """Losses of the next batch."""
        drawn = [
            cycle.draw()
            for cycle, count in zip(self._cycles, self._counts, strict=True)
            for _ in range(count)
        ]
        requests: list[str] = []
        columns: dict[tuple[int, int], int] = {}
        golds: list[int | None] = []
        fits: list[tuple[int, int, float]] = []
        for row, example in enumerate(drawn):
            lower = self._rng.random() < 0.12
            requests.append(example.text.lower() if lower else example.text)
            wrong = self._rng.sample(example.wrong, min(1, len(example.wrong)))
            gold = None
            if example.gold is not None:
                gold = columns.setdefault((example.source, example.gold), len(columns))
                fits.append((row, gold, 1.0))
            golds.append(gold)
            for skill in wrong:
                column = columns.setdefault((example.source, skill), len(columns))
                fits.append((row, column, 0.0))
        documents = [self._view(source, row) for source, row in columns]
        extra = self._pairs.batch(PAIRS_A_STEP)
        requests += [request for request, _ in extra]
        documents += [text for _, text in extra]
        target, forbidden = _targets(drawn, golds, list(columns), len(extra))
        return roster_loss(
            model,
            model.vectors(requests, LABELLED_TOKENS[0]),
            model.vectors(documents, LABELLED_TOKENS[1]),
            target,
            forbidden,
            Fits([f[0] for f in fits], [f[1] for f in fits], torch.tensor([f[2] for f in fits])),
        )

    def _view(self, source: int, row: int) -> str:
        skill = self._skills[source][row]
        start = random_start(self._rng, skill.body, at_top=0.75)
        return view(skill, start, named=self._rng.random() < 0.85)

    def state(self) -> dict[str, Any]:
        """Where the draws are, and the wrong skills found at the start."""
        return {
            "pairs": self._pairs.state(),
            "rng": rng_state(self._rng),
            "cycles": [cycle.state() for cycle in self._cycles],
            "wrong": self._wrong,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; the wrong skills are given when it is made."""
        self._pairs.restore(state["pairs"])
        set_rng_state(self._rng, state["rng"])
        for cycle, its in zip(self._cycles, state["cycles"], strict=True):
            cycle.restore(its)


def _targets(
    drawn: Sequence[Example],
    golds: Sequence[int | None],
    columns: Sequence[tuple[int, int]],
    extra: int,
) -> tuple[Tensor, Tensor]:
    """Right column of each request, and the columns it does not compete with.

    An uncovered turn competes with skills of its own roster only: one of another roster may well
    do what is asked. A phrase pair is covered, so silence is no choice for it.
    """
    labelled, count = len(columns), len(columns) + extra
    target = torch.zeros(len(drawn) + extra, dtype=torch.long)
    forbidden = torch.zeros((len(drawn) + extra, count + 1), dtype=torch.bool)
    for row, (example, gold) in enumerate(zip(drawn, golds, strict=True)):
        if gold is not None:
            target[row] = gold
            continue
        target[row] = count
        forbidden[row, :labelled] = torch.tensor([s != example.source for s, _ in columns])
        forbidden[row, labelled:count] = True
    for i in range(extra):
        target[len(drawn) + i] = labelled + i
        forbidden[len(drawn) + i, count] = True
    return target, forbidden
