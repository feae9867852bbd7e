"""What a pair scorer reads of a turn and of a skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from roster import Skill
from router.local.excerpt import Reader
from router.local.index import SkillIndex
from router.local.presence import Asked, asked, presence
from router.local.signals import Signals
from router.local.text import document
from router.local.wording import wording

BODY_CHARS = 500


@dataclass(frozen=True)
class PairInput:
    """A request and the skills to read with it, as texts and as token vectors.

    Attributes:
        request: The request.
        tokens: Its token vectors, unit length, (t, k).
        importance: Weight of each of them, sum 1, (t,).
        texts: Name, description and start of the body of each skill.
        blocks: Token vectors of each skill, about unit length, (l, k).
        words: The request's words.
        presence: What is present of each token in each skill, columns as in
            `router.local.presence.PRESENCE`, (t, 4).
    """

    request: str
    tokens: NDArray[np.float32]
    importance: NDArray[np.float32]
    texts: Sequence[str]
    blocks: list[NDArray[np.float32]]
    words: Asked
    presence: list[NDArray[np.float32]]


def pair_text(skill: Skill) -> str:
    """The skill's side of a pair as text."""
    return document(skill, BODY_CHARS)


class _Texts(Sequence[str]):
    """The skills' sides, made when they are read: the shipped pair scorer reads vectors alone."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._skills = skills

    def __len__(self) -> int:
        return len(self._skills)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [pair_text(skill) for skill in self._skills[at]]
        return pair_text(self._skills[at])


def pair_input(
    request: str,
    signals: Signals,
    index: SkillIndex,
    rows: Sequence[int] | NDArray[np.int64],
    skills: Sequence[Skill],
    reader: Reader,
) -> PairInput:
    """What a pair scorer reads.

    Args:
        request: The request.
        signals: Its signals.
        index: The roster's index.
        rows: Rows of the skills in it.
        skills: The skills.
        reader: Keeps what was read of the skills from one turn to the next.
    """
    starts = index.token_starts
    words = asked(request, signals.spans, index.word)
    return PairInput(
        request=request,
        tokens=signals.tokens,
        importance=signals.importance,
        texts=_Texts(skills),
        blocks=[
            index.tokens[starts[row] : starts[row + 1]].astype(np.float32) / np.float32(127.0)
            for row in rows
        ],
        words=words,
        presence=[presence(words, reader.said(skill)) for skill in skills],
    )


def wording_beside(pairs: PairInput, row: int) -> tuple[float, ...]:
    """How the request is worded beside one of the skills; see `router.local.wording`."""
    cosines = (pairs.tokens @ pairs.blocks[row].T).max(axis=1)
    return wording(pairs.words, pairs.importance, pairs.presence[row], cosines)
