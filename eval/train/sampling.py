"""What goes into a batch: views of skills, pairs among look-alikes, endless shuffled lists."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from eval.train.errors import TrainError
from eval.train.look_alikes import MOST
from eval.train.pairs import PairedSkill
from roster import Skill
from router.local.text import plain, spoken

T = TypeVar("T")

GROUP = 4
"""Skills drawn together in a batch of pairs: one and up to three look-alikes of it."""


def view(skill: Skill, start: int = 0, named: bool = True, body_chars: int = 700) -> str:
    """A skill's document as the router scores it, or the same from elsewhere in the body.

    Args:
        skill: The skill.
        start: Character of the body to start at.
        named: Whether the name comes first.
        body_chars: Characters of the body.

    Returns:
        With the defaults exactly `router.local.text.document`.
    """
    body = plain(skill.body[start : start + body_chars + 200])[:body_chars]
    front = f"{spoken(skill.name)}. " if named else ""
    return f"{front}{plain(skill.description)} {body}".strip()


def random_start(rng: random.Random, body: str, at_top: float) -> int:
    """Where a view starts: at the top with probability `at_top`, else anywhere but the end."""
    return 0 if rng.random() < at_top else rng.randrange(0, max(1, len(body) - 500))


def rng_state(rng: random.Random) -> list[Any]:
    """A generator's state as plain lists, which a checkpoint can hold."""
    version, numbers, gauss = rng.getstate()
    return [version, list(numbers), gauss]


def set_rng_state(rng: random.Random, state: Sequence[Any]) -> None:
    """Put a generator where `rng_state` found it."""
    rng.setstate((state[0], tuple(state[1]), state[2]))


class Cycle(Generic[T]):
    """Gives the members of a list in random order, again and again, each once a round."""

    def __init__(self, members: Sequence[T], rng: random.Random) -> None:
        self._members = list(members)
        self._rng = rng
        self._order: list[int] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._members)

    def draw(self) -> T:
        """The next member; the list must not be empty."""
        if self._next == len(self._order):
            self._order = list(range(len(self._members)))
            self._rng.shuffle(self._order)
            self._next = 0
        self._next += 1
        return self._members[self._order[self._next - 1]]

    def state(self) -> list[Any]:
        """Where it is; without the members."""
        return [self._order, self._next]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a state."""
        self._order, self._next = list(state[0]), int(state[1])


class PairSampler:
    """Draws batches of (request, document) pairs; no skill is twice in a batch.

    Args:
        skills: Content of a pairs file.
        seed: Seed of the draws.
    """

    def __init__(self, skills: Sequence[PairedSkill], seed: int) -> None:
        self._skills = skills
        self._rng = random.Random(seed)

    def batch(self, size: int) -> list[tuple[str, str]]:
        """Requests with documents from which the request was removed.

        Raises:
            TrainError: If there are fewer skills than that.
        """
        if size > len(self._skills):
            raise TrainError(
                f"a step needs {size} skills with requests, the pairs file holds "
                f"{len(self._skills)}; give a larger folder to train pairs, or a smaller --batch"
            )
        drawn: dict[int, None] = {}
        while len(drawn) < size:
            first = self._rng.randrange(len(self._skills))
            alike = [*self._skills[first].look_alikes, *[-1] * MOST][:MOST]
            group = [first, *self._rng.sample(alike, GROUP - 1)]
            for row in group:
                if row >= 0 and len(drawn) < size:
                    drawn.setdefault(row)
        return [self._pair(self._skills[row]) for row in drawn]

    def _pair(self, paired: PairedSkill) -> tuple[str, str]:
        request, _ = self._rng.choice(paired.requests)
        skill = paired.without(request)
        start = random_start(self._rng, paired.body, at_top=0.7)
        if self._rng.random() < 0.15:
            request = request.lower()
        return request, view(skill, start, named=self._rng.random() < 0.75)

    def state(self) -> list[Any]:
        """Where the draws are."""
        return rng_state(self._rng)

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a state."""
        set_rng_state(self._rng, state)
