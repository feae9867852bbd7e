"""One text of a turn, ready to be matched against the segments of a large index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.index.lexical import TF, Postings, Vocabulary, char_buckets, char_counts, idf
from router.local.lexical import LexicalIndex, char_terms, word_terms

_FILTER_BITS = 16


@dataclass(frozen=True)
class TermQuery:
    """Terms of a text with their weights.

    Attributes:
        terms: Distinct terms, ascending, shape (t,).
        idf: Inverse document frequency of each, shape (t,).
        weights: Weight of each, shape (t,); of unit length.
    """

    terms: NDArray[np.uint32]
    idf: NDArray[np.float32]
    weights: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        terms: NDArray[np.uint32],
        counts: NDArray[np.float32],
        vocabularies: Sequence[Vocabulary],
        size: int,
    ) -> TermQuery:
        """Weigh terms by how many of `size` skills use them; one that none uses counts too."""
        rarity = idf(terms, vocabularies, size)
        # Of a term that no skill uses it does not count how often the text has it.
        used = rarity < np.float32(np.log(1.0 + size) + 1.0)
        weights = np.where(used, 1.0 + np.log(np.maximum(counts, 1.0)), 1.0) * rarity
        length = float(np.sqrt(weights @ weights)) if len(weights) else 1.0
        return cls(terms, rarity, (weights / max(length, 1e-9)).astype(np.float32))


def word_query(text: str, postings: Sequence[Postings], size: int) -> TermQuery:
    """The words of a text, weighed for some segments of `size` skills together."""
    terms, counts = word_terms(text)
    return TermQuery.of(terms, counts, [one.vocabulary for one in postings], size)


def char_query(text: str, vocabularies: Sequence[Vocabulary], size: int) -> TermQuery:
    """The character n-grams of a text, weighed for some segments of `size` skills together."""
    hashes, counts = char_terms(text)
    terms, inverse = np.unique(hashes >> np.uint32(8), return_inverse=True)
    merged = np.bincount(inverse, weights=counts, minlength=len(terms)).astype(np.float32)
    return TermQuery.of(terms, merged, vocabularies, size)


def word_scores(
    query: TermQuery, postings: Postings
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosine and coverage of every skill of a segment.

    Returns:
        Cosine of the query with each skill, and the share of the query's idf mass whose terms the
        skill contains; both 0..1, shape (m,).
    """
    from scipy.sparse import csc_array

    size = len(postings.norms)
    rows, counts, starts, known = postings.gather(query.terms)
    shape, starts = (size, len(starts) - 1), starts.astype(np.int32)
    cosine = csc_array((TF[counts], rows, starts), shape=shape) @ (query.weights * query.idf)[known]
    ones = np.ones(len(rows), np.float32)
    total = max(float(query.idf.sum()), 1e-9)
    coverage = csc_array((ones, rows, starts), shape=shape) @ (query.idf[known] / total)
    return (cosine / postings.norms).astype(np.float32), coverage.astype(np.float32)


def char_scores(
    query: TermQuery, packed: NDArray[np.uint32], starts: NDArray[np.int64],
    norms: NDArray[np.float32],
) -> NDArray[np.float32]:  # fmt: skip
    """Cosine of the query with some skills.

    Args:
        query: The query's n-grams.
        packed: The skills' n-grams, one skill after another.
        starts: Where each skill's begin, shape (c + 1,).
        norms: Length of each skill's weights, shape (c,).
    """
    scores = np.zeros(len(norms), np.float32)
    if not len(query.terms) or not len(packed):
        return scores
    # A table that fits the cache settles nearly all n-grams; the rest are looked up.
    mask = np.uint32((1 << _FILTER_BITS) - 1)
    table = np.zeros(1 << _FILTER_BITS, np.bool_)
    table[query.terms & mask] = True
    near = np.flatnonzero(table[char_buckets(packed) & mask])
    buckets = char_buckets(packed[near])
    at = np.minimum(np.searchsorted(query.terms, buckets), len(query.terms) - 1)
    hit = query.terms[at] == buckets
    near, at = near[hit], at[hit]
    amounts = TF[char_counts(packed[near])] * (query.weights * query.idf)[at]
    owner = np.searchsorted(starts, near, side="right") - 1
    sums = np.bincount(owner, weights=amounts, minlength=len(norms))
    return (sums / norms).astype(np.float32)


def known_words(text: str, postings: Sequence[Postings], size: int) -> LexicalIndex:
    """Word weights of a request in the form the reread looks them up in."""
    query = word_query(text, postings, size)
    nothing = np.zeros(0, np.float32)
    return LexicalIndex(
        query.terms, query.idf, np.zeros(len(query.terms) + 1, np.int64),
        np.zeros(0, np.int32), nothing, size,
    )  # fmt: skip
