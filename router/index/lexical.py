"""The lexical side of a large index: counts on disk, weights made when a query asks for them.

The scheme is that of `router.local.lexical`. Counts are kept instead of weights, so that segments
written at different times are scored with one document frequency, and are merged without a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

TF = np.concatenate([[0.0], 1.0 + np.log(np.arange(1, 256))]).astype(np.float32)
"""Sublinear term frequency of each count, 0 to 255."""


def sublinear(counts: NDArray[np.uint32]) -> NDArray[np.float32]:
    """`TF` of many counts, most of which are 1."""
    found = np.ones(len(counts), np.float32)
    more = np.flatnonzero(counts > 1)
    found[more] = TF[counts[more]]
    return found


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

    def gather(
        self, terms: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32], NDArray[np.bool_]]:
        """Postings of some terms: rows, counts, where each term's begin, and which are known."""
        at, known = self.vocabulary.find(terms)
        spans = list(zip(self.starts[at].tolist(), self.starts[at + 1].tolist(), strict=True))
        entries: NDArray[np.uint32] = self.runs(self.entries, spans)
        starts = np.cumsum([0, *(last - first for first, last in spans)])
        rows = (entries >> np.uint32(_ROW_AT)).view(np.int32)
        return rows, entries & _COUNT, starts.astype(np.int32), known

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
