"""The lexical side of a large index: counts on disk, weights made when a query asks for them.

The scheme is that of `router.local.lexical`. Counts are kept instead of weights, so that segments
written at different times are scored with one document frequency, and are merged without a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.local.lexical import Terms

MOST_ROWS = 1 << 24
"""Most skills of one segment: a posting packs term, row and count into 64 bits."""

_TERM_AT, _ROW_AT = np.uint64(32), np.uint64(8)
_COUNT = np.uint32(0xFF)
_AT_ONCE = 1 << 24
_BLOCK = 1 << 17

TF = np.concatenate([[0.0], 1.0 + np.log(np.arange(1, 256))]).astype(np.float32)
"""Sublinear term frequency of each count, 0 to 255."""


Runs = Callable[[Any, Sequence[tuple[int, int]]], Any]
"""Runs of a flat array, one after another; the spans count elements."""


def pack_terms(row: int, terms: Terms) -> NDArray[np.uint64]:
    """Postings of one skill, one 64-bit number each: sorted, they are grouped by term."""
    hashes, counts = terms
    low = np.minimum(counts, 255).astype(np.uint64) | np.uint64(row << 8)
    packed: NDArray[np.uint64] = (hashes.astype(np.uint64) << _TERM_AT) | low
    return packed


def slices(array: Any, spans: Sequence[tuple[int, int]]) -> Any:
    """`Runs` of an array in memory."""
    parts = [array[first:last] for first, last in spans]
    return np.concatenate([array[:0], *parts])


@dataclass(frozen=True)
class Vocabulary:
    """How many skills use each term.

    Attributes:
        terms: Distinct terms, ascending, shape (v,).
        frequency: Skills that use each, shape (v,).
    """

    terms: NDArray[np.uint32]
    frequency: NDArray[np.uint32]

    def count(self, terms: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Skills that use each of some terms; 0 for one that none uses."""
        found = np.zeros(len(terms), np.int64)
        at, known = self.find(terms)
        found[known] = self.frequency[at]
        return found

    def find(self, terms: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Places of those terms that are known, and which they are."""
        if not len(self.terms) or not len(terms):
            return np.zeros(0, np.int64), np.zeros(len(terms), np.bool_)
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        known = self.terms[at] == terms
        return at[known], known


@dataclass(frozen=True)
class Block:
    """Some postings, grouped by term.

    Attributes:
        columns: Which of the terms asked for each group belongs to, shape (g,).
        rows: Skill of each posting, shape (p,).
        frequencies: Sublinear frequency of each posting, shape (p,).
        starts: Where each group begins, shape (g + 1,).
    """

    columns: NDArray[np.int64]
    rows: NDArray[np.int32]
    frequencies: NDArray[np.float32]
    starts: NDArray[np.int32]


@dataclass(frozen=True)
class Postings:
    """Inverted lists of m skills.

    Attributes:
        vocabulary: The terms.
        starts: Where each term's postings begin, shape (v + 1,).
        entries: Postings: 24 bits of row, 8 of how often the skill uses the term (1 to 255).
        norms: Length of each skill's weights, shape (m,).
        runs: Reads the postings of some terms.
    """

    vocabulary: Vocabulary
    starts: NDArray[np.int64]
    entries: NDArray[np.uint32]
    norms: NDArray[np.float32]
    runs: Runs = slices

    def blocks(self, places: NDArray[np.int64]) -> Iterator[Block]:
        """Postings of the terms at some places of the vocabulary, a block at a time.

        A common n-gram is in most skills, so a request has millions of postings: a block and all
        that is computed from it stay in the processor's cache.
        """
        firsts, lasts = self.starts[places].tolist(), self.starts[places + 1].tolist()
        part: list[tuple[int, int, int]] = []
        room = _BLOCK
        for column, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
            while first < last:
                end = min(last, first + room)
                part.append((column, first, end))
                room -= end - first
                first = end
                if not room:
                    yield self._block(part)
                    part, room = [], _BLOCK
        if part:
            yield self._block(part)

    def _block(self, part: Sequence[tuple[int, int, int]]) -> Block:
        entries: NDArray[np.uint32] = self.runs(
            self.entries, [(first, last) for _, first, last in part]
        )
        starts = np.cumsum([0, *(last - first for _, first, last in part)]).astype(np.int32)
        rows = (entries >> np.uint32(_ROW_AT)).view(np.int32)
        frequencies = TF[(entries & _COUNT).astype(np.intp)]
        return Block(np.array([column for column, _, _ in part]), rows, frequencies, starts)

    def packed(self) -> NDArray[np.uint64]:
        """All postings packed as by `pack_terms`."""
        packed = np.repeat(self.vocabulary.terms.astype(np.uint64), np.diff(self.starts))
        packed <<= _TERM_AT
        packed |= self.entries
        return packed


def invert(
    packed: NDArray[np.uint64], size: int, others: Sequence[Vocabulary] = (), known: int = 0
) -> Postings:
    """Inverted lists of packed postings.

    Args:
        packed: Postings in any order; sorted in place.
        size: Number of skills m.
        others: Vocabularies of the segments that stand beside this one.
        known: Number of skills of those.
    """
    packed.sort()
    terms = (packed >> _TERM_AT).astype(np.uint32)
    entries = (packed & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    first = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]])[: len(terms)])
    starts = np.append(first, len(terms)).astype(np.int64)
    vocabulary = Vocabulary(terms[first], np.diff(starts).astype(np.uint32))
    del terms
    rarity = idf(vocabulary.terms, [vocabulary, *others], size + known)
    squares = np.zeros(size, np.float64)
    for at in range(0, len(entries), _AT_ONCE):  # all at once would take gigabytes
        part = entries[at : at + _AT_ONCE]
        owners = np.searchsorted(starts, np.arange(at, at + len(part)), side="right") - 1
        weights = rarity[owners] * TF[part & _COUNT]
        rows = (part >> np.uint32(_ROW_AT)).astype(np.int32)
        squares += np.bincount(rows, weights=weights * weights, minlength=size)
    norms = np.maximum(np.sqrt(squares), 1e-9).astype(np.float32)
    return Postings(vocabulary, starts, entries, norms)


def idf(
    terms: NDArray[np.uint32], vocabularies: Sequence[Vocabulary], size: int
) -> NDArray[np.float32]:
    """Smoothed inverse document frequency of terms over several segments of `size` skills."""
    frequency = np.zeros(len(terms), np.int64)
    for vocabulary in vocabularies:
        frequency += vocabulary.count(terms)
    found: NDArray[np.float32] = (np.log((1.0 + size) / (1.0 + frequency)) + 1.0).astype(np.float32)
    return found
