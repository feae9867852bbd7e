"""Some skills of a large index as an index of their own, for what scores candidates in full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from router.index.segment import Segment
from router.local.index import SkillIndex
from router.local.lexical import LexicalIndex


def no_words() -> LexicalIndex:
    """A lexical index of nothing: those of a large roster lie in its segments."""
    floats, starts = np.zeros(0, np.float32), np.zeros(1, np.int64)
    return LexicalIndex(np.zeros(0, np.uint32), floats, starts, np.zeros(0, np.int32), floats, 0)


def make_view(
    segments: Sequence[Segment],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    names: Sequence[str],
    word: LexicalIndex | None = None,
) -> SkillIndex:
    """The vectors and tokens of some skills.

    Args:
        segments: The segments.
        offsets: First row of each segment, and the number of all rows.
        rows: The skills' rows over all segments, shape (c,).
        names: Their names, shape (c,).
        word: Answers how much each word of the request weighs.

    Returns:
        An index of c skills in the order of `rows`, without inverted lists.
    """
    owners = np.searchsorted(offsets, rows, side="right") - 1
    c, d, k = len(rows), segments[0].vectors.shape[1], segments[0].tokens.shape[1]
    documents, summaries = np.zeros((c, d), np.float32), np.zeros((c, d), np.float32)
    passages = [np.zeros((0, d), np.float32)] * c
    tokens = [np.zeros((0, k), np.int8)] * c
    for at, segment in enumerate(segments):
        places = np.flatnonzero(owners == at)
        if not len(places):
            continue
        own = rows[places] - offsets[at]
        documents[places] = segment.unit(segment.documents[own])
        summaries[places] = segment.unit(segment.summaries[own])
        ids = [segment.passage_ids(row) for row in own.tolist()]
        pieces, end = segment.unit(np.concatenate(ids)), 0
        read = segment.read_tokens(own.tolist())
        for place, its, some in zip(places.tolist(), ids, read, strict=True):
            passages[place], tokens[place] = pieces[end : end + len(its)], some
            end += len(its)
    none = no_words()
    return SkillIndex(
        names=tuple(names),
        skill_digests=(),
        documents=documents,
        summaries=summaries,
        passages=np.concatenate([np.zeros((0, d), np.float32), *passages]),
        passage_starts=_starts(passages),
        tokens=np.concatenate([np.zeros((0, k), np.int8), *tokens]),
        token_starts=_starts(tokens),
        word=word or none,
        char=none,
        front=none,
    )


def _starts(parts: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
