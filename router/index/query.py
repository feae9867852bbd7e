"""One text of a turn, ready to be matched against the segments of a large index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.index.lexical import Postings, Vocabulary, idf
from router.local.lexical import LexicalIndex, Terms, word_terms


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


def query(terms: Terms, postings: Sequence[Postings], size: int) -> TermQuery:
    """Terms of a text, weighed for some segments of `size` skills together."""
    return TermQuery.of(*terms, [one.vocabulary for one in postings], size)


def scores(
    asked: TermQuery, postings: Postings, coverage: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosine and coverage of every skill of a segment.

    Args:
        asked: The query.
        postings: The segment's postings.
        coverage: Whether coverage is wanted; else it is 0.

    Returns:
        Cosine of the query with each skill, and the share of the query's idf mass whose terms the
        skill contains; both 0..1, shape (m,).
    """
    from scipy.sparse import csc_array

    size = len(postings.norms)
    places, known = postings.vocabulary.find(asked.terms)
    weights = (asked.weights * asked.idf)[known]
    shares = asked.idf[known] / max(float(asked.idf.sum()), 1e-9)
    cosine, covered = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for block in postings.blocks(places):
        shape = (size, len(block.columns))
        table = csc_array((block.frequencies, block.rows, block.starts), shape=shape)
        cosine += table @ weights[block.columns]
        if coverage:
            table.data = np.ones(len(block.rows), np.float32)
            covered += table @ shares[block.columns]
    cosine /= postings.norms
    return cosine, covered


def known_words(text: str, postings: Sequence[Postings], size: int) -> LexicalIndex:
    """Word weights of a request in the form the reread looks them up in."""
    asked = query(word_terms(text), postings, size)
    nothing = np.zeros(0, np.float32)
    return LexicalIndex(
        asked.terms, asked.idf, np.zeros(len(asked.terms) + 1, np.int64),
        np.zeros(0, np.int32), nothing, size,
    )  # fmt: skip
