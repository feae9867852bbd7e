"""The lexical side of a large index: counts on disk, weights made when a query asks for them.

The scheme is that of `router.local.lexical`. Counts are kept instead of weights, so that segments
written at different times are scored with one document frequency, and are merged without a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.local.lexical import Terms

MOST_ROWS = 1 << 24
"""Most skills of one segment: a posting packs term, row and count into 64 bits."""

_TF_BITS, _ROW_BITS = 8, 24
_CHAR_BITS = 24

TF = np.concatenate([[0.0], 1.0 + np.log(np.arange(1, 256))]).astype(np.float32)
"""Sublinear term frequency of each count, 0 to 255."""


def pack_words(row: int, terms: Terms) -> NDArray[np.uint64]:
    """Postings of one skill, one 64-bit number each: sorted, they are grouped by term."""
    hashes, counts = terms
    high = hashes.astype(np.uint64) << np.uint64(_TF_BITS + _ROW_BITS)
    low = np.minimum(counts, 255).astype(np.uint64) | np.uint64(row << _TF_BITS)
    packed: NDArray[np.uint64] = high | low
    return packed


def pack_chars(terms: Terms) -> NDArray[np.uint32]:
    """Character n-grams of one skill, one 32-bit number each: 24 bits of hash, 8 of count."""
    hashes, counts = terms
    buckets, inverse = np.unique(hashes >> np.uint32(32 - _CHAR_BITS), return_inverse=True)
    merged = np.bincount(inverse, weights=counts, minlength=len(buckets))
    low = np.minimum(merged, 255).astype(np.uint32)
    packed: NDArray[np.uint32] = (buckets << np.uint32(_TF_BITS)) | low
    return packed


def char_buckets(packed: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The hashes of packed character n-grams."""
    buckets: NDArray[np.uint32] = packed >> np.uint32(_TF_BITS)
    return buckets


def char_counts(packed: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The counts of packed character n-grams."""
    return (packed & np.uint32(0xFF)).astype(np.uint8)


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
        rows: Skill of each posting.
        counts: How often the skill uses the term, 1 to 255.
        norms: Length of each skill's weights, shape (m,).
    """

    vocabulary: Vocabulary
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]
    norms: NDArray[np.float32]

    def gather(
        self, terms: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
        """Postings of some terms: rows, counts, where each term's begin, and which terms are known.

        Only the pages of these terms are read.
        """
        at, known = self.vocabulary.find(terms)
        spans = [(int(self.starts[i]), int(self.starts[i + 1])) for i in at]
        rows = [self.rows[first:last] for first, last in spans]
        counts = [self.counts[first:last] for first, last in spans]
        starts = np.concatenate([[0], np.cumsum([last - first for first, last in spans])])
        return (
            np.concatenate(rows) if rows else np.zeros(0, np.int32),
            np.concatenate(counts) if counts else np.zeros(0, np.uint8),
            starts.astype(np.int64),
            known,
        )

    def packed(self, at: int = 0) -> NDArray[np.uint64]:
        """All postings packed as by `pack_words`, the rows counted from `at`."""
        spans = np.diff(self.starts)
        packed = np.repeat(self.vocabulary.terms.astype(np.uint64), spans)
        packed <<= np.uint64(_TF_BITS + _ROW_BITS)
        packed |= (self.rows.astype(np.uint64) + np.uint64(at)) << np.uint64(_TF_BITS)
        packed |= self.counts
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
    terms = (packed >> np.uint64(_TF_BITS + _ROW_BITS)).astype(np.uint32)
    rows = ((packed >> np.uint64(_TF_BITS)) & np.uint64(MOST_ROWS - 1)).astype(np.int32)
    counts = (packed & np.uint64(0xFF)).astype(np.uint8)
    first = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]])[: len(terms)])
    starts = np.append(first, len(terms)).astype(np.int64)
    vocabulary = Vocabulary(terms[first], np.diff(starts).astype(np.uint32))
    weights = np.repeat(idf(vocabulary.terms, [vocabulary, *others], size + known), np.diff(starts))
    weights *= TF[counts]
    norms = np.sqrt(np.bincount(rows, weights=weights * weights, minlength=size))
    return Postings(vocabulary, starts, rows, counts, np.maximum(norms, 1e-9).astype(np.float32))


def idf(
    terms: NDArray[np.uint32], vocabularies: Sequence[Vocabulary], size: int
) -> NDArray[np.float32]:
    """Smoothed inverse document frequency of terms over several segments of `size` skills."""
    frequency = np.zeros(len(terms), np.int64)
    for vocabulary in vocabularies:
        frequency += vocabulary.count(terms)
    found: NDArray[np.float32] = (np.log((1.0 + size) / (1.0 + frequency)) + 1.0).astype(np.float32)
    return found


@dataclass(frozen=True)
class CharRows:
    """Character n-grams of m skills, by skill.

    Attributes:
        vocabulary: How many skills use each n-gram.
        starts: Where each skill's n-grams begin, shape (m + 1,).
        packed: N-grams as `pack_chars` packs them.
        norms: Length of each skill's weights, shape (m,).
    """

    vocabulary: Vocabulary
    starts: NDArray[np.int64]
    packed: NDArray[np.uint32]
    norms: NDArray[np.float32]


def char_rows(
    parts: Sequence[NDArray[np.uint32]], others: Sequence[Vocabulary] = (), known: int = 0
) -> CharRows:
    """The n-grams of skills, with their frequencies and norms.

    Args:
        parts: Packed n-grams of each skill.
        others: Vocabularies of the segments that stand beside this one.
        known: Number of skills of those.
    """
    frequency = np.zeros(1 << _CHAR_BITS, np.uint32)
    for part in parts:
        frequency[char_buckets(part)] += 1  # the n-grams of one skill are distinct
    terms = np.flatnonzero(frequency).astype(np.uint32)
    vocabulary = Vocabulary(terms, frequency[terms])
    table = np.zeros(1 << _CHAR_BITS, np.float32)
    table[terms] = idf(terms, [vocabulary, *others], len(parts) + known)
    norms = np.zeros(len(parts), np.float32)
    for row, part in enumerate(parts):
        weights = table[char_buckets(part)] * TF[char_counts(part)]
        norms[row] = np.sqrt(weights @ weights)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    packed = np.concatenate(parts) if parts else np.zeros(0, np.uint32)
    return CharRows(vocabulary, starts, packed, np.maximum(norms, 1e-9))
