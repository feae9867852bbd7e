"""A roster of a few hundred skills made of few words, and an encoder that knows them."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from roster import Roster, Skill
from router.index import inspections
from router.local.heads import FOLDER, Heads, Linear
from tests.router.fakes import HashEncoder

STEMS = [a + b + c for a in ("ka", "lo", "mi", "ne") for b in ("ra", "si", "to") for c in "xyz"]


class WordEncoder(HashEncoder):
    """`HashEncoder` with more dimensions that remembers the words it has met."""

    digest, dimension, token_dimension = "1" * 64, 64, 16

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, int], np.ndarray] = {}

    def _word(self, word: str, size: int) -> np.ndarray:
        if (word, size) not in self._known:
            self._known[word, size] = super()._word(word, size)
        return self._known[word, size]


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(STEMS) for _ in range(count))


def make_skills(count: int, seed: int = 0) -> list[Skill]:
    rng = random.Random(seed)
    return [
        Skill(
            name=f"skill-{seed}-{i}",
            category=rng.choice(["ops", "art"]),
            description=words(rng, 7),
            body=words(rng, rng.choice([0, 30, 250])),
            requires=rng.choice([(), (), ("shell",), ("shell", "web")]),
        )
        for i in range(count)
    ]


@pytest.fixture(autouse=True)
def _own_key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's key."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setattr(inspections, "key_path", lambda: folder / "inspections.key")


@pytest.fixture(scope="session")
def skills() -> list[Skill]:
    return make_skills(120)


@pytest.fixture(scope="session")
def crowd_of_words(skills: list[Skill]) -> Roster:
    return Roster.from_skills(skills)


@pytest.fixture(scope="session")
def wide() -> Linear:
    return Heads.from_file(FOLDER / "heads-skill-router.json").wide


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture(scope="session")
def requests() -> Callable[[int], list[str]]:
    def some(count: int) -> list[str]:
        rng = random.Random(9)
        return [words(rng, rng.choice([2, 6, 20])) for _ in range(count)]

    return some
