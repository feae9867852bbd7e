"""Some skills of a large index as an index of their own, for what scores candidates in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from router.index.segment import Segment, spans
from router.local.index import SkillIndex
from router.local.lexical import LexicalIndex

Number = TypeVar("Number", bound=np.generic)


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
    pieces, lengths = [np.zeros((0, d), np.float32)], np.zeros(c, np.int64)
    tokens, token_lengths = [np.zeros((0, k), np.int8)], np.zeros(c, np.int64)
    grouped = [np.zeros(0, np.int64)]
    for at, segment in enumerate(segments):
        places = np.flatnonzero(owners == at)
        if not len(places):
            continue
        own = rows[places] - offsets[at]
        grouped.append(places)
        documents[places] = segment.unit(segment.documents[own])
        summaries[places] = segment.unit(segment.summaries[own])
        ids, lengths[places] = segment.passage_ids(own)
        pieces.append(segment.unit(ids))
        read, token_lengths[places] = segment.read_tokens(own)
        tokens.append(read)
    order = np.concatenate(grouped)
    none = no_words()
    return SkillIndex(
        names=tuple(names),
        skill_digests=(),
        documents=documents,
        summaries=summaries,
        passages=_in_order(pieces, lengths, order),
        passage_starts=_starts(lengths),
        tokens=_in_order(tokens, token_lengths, order),
        token_starts=_starts(token_lengths),
        word=word or none,
        char=none,
        front=none,
    )


def _in_order(
    parts: Sequence[NDArray[Number]], lengths: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[Number]:
    """What was read of each segment, put into the order of the skills.

    Args:
        parts: Rows read, a run for each skill; first an empty part.
        lengths: Rows of each skill, shape (c,).
        order: Skills in the order in which they were read, shape (c,).
    """
    read = parts[1] if len(parts) == 2 else np.concatenate(parts)
    if (np.diff(order) > 0).all():
        return read
    begins = np.empty(len(order), np.int64)
    begins[order] = _starts(lengths[order])[:-1]
    return read[spans(begins, lengths)]


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
