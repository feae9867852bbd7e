"""The part of a body that speaks to the request, and how much of the request it covers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roster import Skill
from router.local.index import SkillIndex
from router.local.lexical import Terms, among, word_terms
from router.local.presence import Said, said
from router.local.text import fields, passages, summary

DEFAULT_EXCERPT = 700


_Key = tuple[str, str, str]


class Reader:
    """What was read of the skills that were reread last: they do not change.

    Args:
        most: Most skills that are kept.
        most_excerpts: Most excerpts whose words are kept; of a skill the same few are chosen again
            and again.
    """

    def __init__(self, most: int = 2_048, most_excerpts: int = 4_096) -> None:
        self._most, self._most_excerpts = most, most_excerpts
        self._known: dict[_Key, tuple[list[str], NDArray[np.uint32]]] = {}
        self._excerpts: dict[tuple[_Key, tuple[int, ...], int], NDArray[np.uint32]] = {}
        self._said: dict[_Key, Said] = {}

    def read(self, skill: Skill) -> tuple[list[str], NDArray[np.uint32]]:
        """The body in pieces, and the words of name and description."""
        key = _key(skill)
        known = self._known.get(key)
        if known is None:
            known = passages(skill), word_terms(summary(skill))[0]
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[key] = known
        return known

    def said(self, skill: Skill) -> Said:
        """The words of the whole skill."""
        key = _key(skill)
        known = self._said.get(key)
        if known is None:
            anywhere, front = fields(skill)
            known = said(front, anywhere)
            if len(self._said) >= self._most:
                self._said.clear()
            self._said[key] = known
        return known

    def excerpt_words(
        self, skill: Skill, nearness: NDArray[np.float32], limit: int
    ) -> NDArray[np.uint32]:
        """The words of the excerpt that `choose_excerpt` chooses, hashed, ascending."""
        pieces, _ = self.read(skill)
        order = _nearest(pieces, nearness, limit)
        key = (_key(skill), order, limit)
        known = self._excerpts.get(key)
        if known is None:
            known = word_terms(_joined(pieces, order, limit))[0]
            if len(self._excerpts) >= self._most_excerpts:
                self._excerpts.clear()
            self._excerpts[key] = known
        return known


def _key(skill: Skill) -> _Key:
    """All that is read of a skill: a copy made in code can hold other text than its digest says.

    Texts remember their hash, so this costs nothing from the second time on.
    """
    return skill.name, skill.description, skill.body


def choose_excerpt(pieces: Sequence[str], nearness: NDArray[np.float32], limit: int) -> str:
    """The pieces nearest to the request, in the body's order, at most `limit` characters.

    Args:
        pieces: The body in pieces.
        nearness: How near each piece is to the request, shape (len(pieces),).
        limit: Most characters; the last piece that begins within it is cut.

    Returns:
        The excerpt; "" when the limit is 0.
    """
    return _joined(pieces, _nearest(pieces, nearness, limit), limit)


def _nearest(pieces: Sequence[str], nearness: NDArray[np.float32], limit: int) -> tuple[int, ...]:
    """Which pieces begin within the limit, the nearest first."""
    room = limit
    order: list[int] = []
    for at in np.argsort(-nearness, kind="stable").tolist():
        if room <= 0:
            break
        order.append(at)
        room -= len(pieces[at])
    return tuple(order)


def _joined(pieces: Sequence[str], order: Sequence[int], limit: int) -> str:
    room = limit
    chosen: dict[int, str] = {}
    for at in order:
        chosen[at] = pieces[at][:room]
        room -= len(pieces[at])
    return " ".join(chosen[at] for at in sorted(chosen))


def excerpt_features(
    skills: Sequence[Skill],
    rows: NDArray[np.int64],
    request: Terms,
    vector: NDArray[np.float32],
    index: SkillIndex,
    limit: int,
    reader: Reader,
) -> NDArray[np.float32]:
    """What description and excerpt cover of the request.

    Args:
        skills: The candidates.
        rows: Their rows in the index.
        request: Words of the request.
        vector: The request's vector, recent context mixed in.
        index: The roster's index.
        limit: Characters of each excerpt.
        reader: Keeps what was read.

    Returns:
        Shape (c, 2): share of the request's idf mass in description and excerpt together, and in
        the excerpt alone; both 0..1.
    """
    terms = request[0]
    weights = index.word.weights_of(terms)
    total = max(float(weights.sum()), 1e-9)
    found = np.zeros((len(skills), 2), dtype=np.float32)
    for i, (skill, row) in enumerate(zip(skills, rows, strict=True)):
        first, last = index.passage_starts[row], index.passage_starts[row + 1]
        nearness = index.passages[first:last] @ vector
        _, front = reader.read(skill)
        inside = among(terms, reader.excerpt_words(skill, nearness, limit))
        found[i] = [
            weights[inside | among(terms, front)].sum() / total,
            weights[inside].sum() / total,
        ]
    return found
