"""One training step of the pair scorer: some requests, each with a few skills of its roster."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from eval.train.labelled import NEAR_KINDS, Example, as_examples
from eval.train.pair_model import PairModel
from eval.train.sampling import Cycle, PairSampler, random_start, rng_state, set_rng_state, view
from eval.train.sources import Source
from router.local.pair_text import BODY_CHARS

COVERED, NEAR = 0.6, 0.3
"""Shares of a labelled batch; the rest are turns far from any skill."""
CANDIDATES = 4
"""Skills a request is read with."""
PHRASES = 2
"""Phrase pairs in each step, each against look-alikes of its skill."""
FIT = 0.3
"""Weight of the single pair (does this skill do it?) beside the choice."""


class PairScorerStage:
    """Labelled turns with skills that look right, and a few phrase pairs.

    Args:
        sources: Rosters with labelled turns.
        wrong: For each of their turns the skills that look right, from `find_wrong`.
        phrases: Draws the phrase pairs.
        batch: Labelled turns a step, 4 or more.
        seed: Seed of the draws.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        wrong: Sequence[Sequence[int]],
        phrases: PairSampler,
        batch: int,
        seed: int,
    ) -> None:
        self._skills = [list(source.roster) for source in sources]
        self._phrases = phrases
        self._rng = random.Random(seed)
        self._wrong = [list(rows) for rows in wrong]
        examples = as_examples(sources, wrong)
        uncovered = [e for e in examples if e.gold is None]
        cycles = [
            Cycle([e for e in examples if e.gold is not None], self._rng),
            Cycle([e for e in uncovered if e.kind in NEAR_KINDS], self._rng),
            Cycle([e for e in uncovered if e.kind not in NEAR_KINDS], self._rng),
        ]
        covered, near = int(batch * COVERED), int(batch * NEAR)
        counts = (covered, near, batch - covered - near)
        self._cycles = cycles
        self._counts = [
            count if len(cycle) else 0 for cycle, count in zip(cycles, counts, strict=True)
        ]

    def losses(self, model: PairModel) -> tuple[Tensor, Tensor]:
        """Losses of the next batch: of the choice, silence among it, and of single pairs."""
        lists = [
            self._labelled(cycle.draw())
            for cycle, count in zip(self._cycles, self._counts, strict=True)
            for _ in range(count)
        ]
        for _ in range(PHRASES):
            drawn = self._phrases.batch(CANDIDATES)
            lists.append(([(drawn[0][0], text) for _, text in drawn], 0))
        logits = model.logits([pair for pairs, _ in lists for pair in pairs])
        choice, single, start = [], [], 0
        for pairs, gold in lists:
            own = logits[start : start + len(pairs)]
            start += len(pairs)
            target = len(pairs) if gold is None else gold
            with_silence = torch.cat([own, own.new_zeros(1)])
            choice.append(functional.cross_entropy(with_silence[None], torch.tensor([target])))
            labels = torch.zeros(len(pairs))
            if gold is not None:
                labels[gold] = 1.0
            single.append(functional.binary_cross_entropy_with_logits(own, labels))
        return torch.stack(choice).mean(), FIT * torch.stack(single).mean()

    def _labelled(self, example: Example) -> tuple[list[tuple[str, str]], int | None]:
        text = example.text.lower() if self._rng.random() < 0.12 else example.text
        others = list(dict.fromkeys(example.wrong))
        rows = [] if example.gold is None else [example.gold]
        room = CANDIDATES - len(rows)
        if example.gold is None and others:
            rows.append(others[0])  # what a near miss is near to is always read
            rows += self._rng.sample(others[1:], min(room - 1, len(others) - 1))
        else:
            rows += self._rng.sample(others, min(room, len(others)))
        pairs = [(text, self._view(example.source, row)) for row in rows]
        return pairs, None if example.gold is None else 0

    def _view(self, source: int, row: int) -> str:
        skill = self._skills[source][row]
        start = random_start(self._rng, skill.body, at_top=0.8)
        return view(skill, start, self._rng.random() < 0.9, BODY_CHARS)

    def state(self) -> dict[str, Any]:
        """Where the draws are, and the wrong skills found at the start."""
        return {
            "pairs": self._phrases.state(),
            "rng": rng_state(self._rng),
            "cycles": [cycle.state() for cycle in self._cycles],
            "wrong": self._wrong,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; the wrong skills are given when it is made."""
        self._phrases.restore(state["pairs"])
        set_rng_state(self._rng, state["rng"])
        for cycle, its in zip(self._cycles, state["cycles"], strict=True):
            cycle.restore(its)
