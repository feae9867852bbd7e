"""TF-IDF over words and over character n-grams, hashed, as arrays that load fast.

Weights follow the usual scheme: sublinear term frequency, smoothed inverse document frequency,
rows of unit length (Salton and Buckley 1988). Terms are 32-bit hashes, so that counting is a
matter of array operations and an index holds no text.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Terms = tuple[NDArray[np.uint32], NDArray[np.float32]]
"""Distinct term hashes, ascending, and how often each occurs."""

# Latin words and numbers apart from other scripts, so that "用hf把" still finds "hf".
_WORD = re.compile(r"[a-z0-9]+|[^\W\d_a-z]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def words(text: str) -> list[str]:
    """The words of a text: lower case, accents folded, runs of Chinese or Japanese as bigrams."""
    folded = text.lower()
    if not folded.isascii():  # ASCII has nothing to fold, and this runs on many texts a turn
        folded = unicodedata.normalize("NFKD", folded)
        if folded != text:
            folded = "".join(c for c in folded if not unicodedata.combining(c))
    found: list[str] = []
    for word in _WORD.findall(folded):
        if len(word) > 2 and _CJK.match(word):
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.append(word)
    return found


def word_terms(text: str) -> Terms:
    """Words of two letters or more, and pairs of neighbours, hashed and counted."""
    kept = [word for word in words(text) if len(word) > 1]
    pairs = [f"{a} {b}" for a, b in pairwise(kept)]
    hashes = np.fromiter(
        (zlib.crc32(term.encode("utf-8", "replace")) for term in kept + pairs),
        dtype=np.uint32,
        count=len(kept) + len(pairs),
    )
    return _counted(hashes)


def char_terms(text: str, low: int = 3, high: int = 5) -> Terms:
    """Character n-grams inside words, each word with a space on both sides, hashed and counted."""
    joined = f" {' '.join(words(text))} "
    codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    spaces = np.concatenate([[0], np.cumsum(codes == 32)])
    found = []
    for n in range(low, high + 1):
        count = len(codes) - n + 1
        if count <= 0:
            break
        value = np.zeros(count, dtype=np.uint64)
        for i in range(n):
            value = value * np.uint64(1_000_003) + codes[i : i + count]
        # A space may only be the first or the last character of the n-gram.
        inside = spaces[n - 1 : n - 1 + count] - spaces[1 : 1 + count]
        value = value[inside == 0]
        value ^= value >> np.uint64(29)
        value *= np.uint64(0xBF58476D1CE4E5B9)
        found.append((value >> np.uint64(32)).astype(np.uint32))
    return _counted(np.concatenate(found) if found else np.zeros(0, dtype=np.uint32))


def among(terms: NDArray[np.uint32], some: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which terms are among some others, which ascend."""
    if not len(some):
        return np.zeros(len(terms), dtype=np.bool_)
    at = np.minimum(np.searchsorted(some, terms), len(some) - 1)
    found: NDArray[np.bool_] = some[at] == terms
    return found


def _counted(hashes: NDArray[np.uint32]) -> Terms:
    terms, counts = np.unique(hashes, return_counts=True)
    return terms, counts.astype(np.float32)


@dataclass(frozen=True)
class LexicalIndex:
    """An inverted index over n skills.

    Attributes:
        vocabulary: Distinct term hashes, ascending, shape (v,).
        idf: Inverse document frequency of each, shape (v,).
        starts: Where each term's postings begin, shape (v + 1,).
        rows: Skill of each posting.
        weights: Weight of each posting; a skill's weights have unit length.
        size: Number of skills.
    """

    vocabulary: NDArray[np.uint32]
    idf: NDArray[np.float32]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]
    size: int

    @classmethod
    def build(cls, documents: Sequence[Terms]) -> LexicalIndex:
        """Index the terms of n documents."""
        size = len(documents)
        lengths = [len(terms) for terms, _ in documents]
        if not size or not sum(lengths):
            empty = np.zeros(0, dtype=np.float32)
            return cls(
                np.zeros(0, np.uint32), empty, np.zeros(1, np.int64), np.zeros(0, np.int32),
                empty, size,
            )  # fmt: skip
        terms = np.concatenate([terms for terms, _ in documents])
        counts = np.concatenate([counts for _, counts in documents])
        rows = np.repeat(np.arange(size, dtype=np.int32), lengths)
        order = np.argsort(terms, kind="stable")
        terms, counts, rows = terms[order], counts[order], rows[order]
        vocabulary, first = np.unique(terms, return_index=True)
        starts = np.append(first, len(terms)).astype(np.int64)
        frequency = np.diff(starts)
        idf = (np.log((1.0 + size) / (1.0 + frequency)) + 1.0).astype(np.float32)
        weights = (1.0 + np.log(counts)) * np.repeat(idf, frequency)
        norms = np.sqrt(np.bincount(rows, weights=weights**2, minlength=size))
        weights = weights / np.maximum(norms[rows], 1e-9)
        return cls(vocabulary, idf, starts, rows, weights.astype(np.float32), size)

    def scores(self, query: Terms) -> NDArray[np.float32]:
        """Cosine of a query with every skill, 0..1, shape (n,)."""
        found, idf, counts = self._lookup(query)
        if not len(found):
            return np.zeros(self.size, dtype=np.float32)
        weights = (1.0 + np.log(counts)) * idf
        # Terms the roster never uses still lengthen the query: they are what no skill speaks of.
        unseen = len(query[0]) - len(found)
        weights /= np.sqrt(float(np.sum(weights**2)) + unseen * self._rarest**2)
        positions, spans = self._postings(found)
        return self._summed(positions, self.weights[positions] * np.repeat(weights, spans))

    def coverage(self, query: Terms) -> NDArray[np.float32]:
        """Share of the query's idf mass whose terms a skill contains, 0..1, shape (n,)."""
        found, idf, _ = self._lookup(query)
        if not len(found):
            return np.zeros(self.size, dtype=np.float32)
        positions, spans = self._postings(found)
        total = float(self.weights_of(query[0]).sum())
        return self._summed(positions, np.repeat(idf / total, spans))

    def weights_of(self, terms: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Idf of each term; one that no skill uses counts as the rarest."""
        weights = np.full(len(terms), self._rarest, dtype=np.float32)
        if len(self.vocabulary):
            at = np.minimum(np.searchsorted(self.vocabulary, terms), len(self.vocabulary) - 1)
            known = self.vocabulary[at] == terms
            weights[known] = self.idf[at[known]]
        return weights

    def shares_of(self, terms: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Share of the skills that contain each term, 0..1."""
        # The weight of a term is all that the index of a large roster keeps of how many do.
        weights = self.weights_of(terms).astype(np.float64)
        count = np.rint((1.0 + self.size) / np.exp(weights - 1.0) - 1.0)
        return (np.abs(count) / max(self.size, 1)).astype(np.float32)

    @property
    def _rarest(self) -> float:
        return float(np.log(1.0 + self.size)) + 1.0

    def _postings(self, found: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of all postings of some terms, and how many each term has."""
        spans = self.starts[found + 1] - self.starts[found]
        before = np.concatenate([[0], np.cumsum(spans)[:-1]])
        positions = np.repeat(self.starts[found] - before, spans) + np.arange(int(spans.sum()))
        return positions, spans

    def _summed(
        self, positions: NDArray[np.int64], amounts: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        sums = np.bincount(self.rows[positions], weights=amounts, minlength=self.size)
        return sums.astype(np.float32)

    def _lookup(
        self, query: Terms
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
        terms, counts = query
        if not len(self.vocabulary) or not len(terms):
            empty = np.zeros(0, dtype=np.float32)
            return np.zeros(0, dtype=np.int64), empty, empty
        at = np.searchsorted(self.vocabulary, terms)
        at = np.minimum(at, len(self.vocabulary) - 1)
        known = self.vocabulary[at] == terms
        found = at[known]
        return found, self.idf[found], counts[known]
