"""The part of a body that speaks to the request, and how much of the request it covers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roster import Skill
from router.local.index import SkillIndex, text_digest
from router.local.lexical import Terms, word_terms
from router.local.text import passages, summary

DEFAULT_EXCERPT = 700


class Reader:
    """Pieces and front words of the skills that were reread last: they do not change.

    Args:
        most: Most skills that are kept.
    """

    def __init__(self, most: int = 2_048) -> None:
        self._most = most
        self._known: dict[tuple[str, str], tuple[list[str], NDArray[np.uint32]]] = {}

    def read(self, skill: Skill) -> tuple[list[str], NDArray[np.uint32]]:
        """The body in pieces, and the words of name and description."""
        key = (skill.name, text_digest(skill))
        known = self._known.get(key)
        if known is None:
            known = passages(skill), word_terms(summary(skill))[0]
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[key] = known
        return known


def choose_excerpt(pieces: Sequence[str], nearness: NDArray[np.float32], limit: int) -> str:
    """The pieces nearest to the request, in the body's order, at most `limit` characters.

    Args:
        pieces: The body in pieces.
        nearness: How near each piece is to the request, shape (len(pieces),).
        limit: Most characters; the last piece that begins within it is cut.

    Returns:
        The excerpt; "" when the limit is 0.
    """
    room = limit
    chosen: dict[int, str] = {}
    for at in np.argsort(-nearness, kind="stable"):
        if room <= 0:
            break
        chosen[int(at)] = pieces[int(at)][:room]
        room -= len(pieces[int(at)])
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
        pieces, front = reader.read(skill)
        excerpt = word_terms(choose_excerpt(pieces, nearness, limit))[0]
        inside = np.isin(terms, excerpt)
        found[i] = [
            weights[inside | np.isin(terms, front)].sum() / total,
            weights[inside].sum() / total,
        ]
    return found
