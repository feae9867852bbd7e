"""The default index: every vector of the roster is compared, in memory that processes share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from router.index.product import Int8Product
from router.index.protocol import Wanted, best
from router.index.segment import Segment


class ExactIndex:
    """Scans the int8 vectors of all segments; meant for up to about 100,000 skills.

    Args:
        segments: The segments, in the order of the rows.
        threads: Threads of a scan.
    """

    def __init__(self, segments: Sequence[Segment], threads: int) -> None:
        self._segments = list(segments)
        self._product = Int8Product(threads)
        self._sums = [self._product.sums(segment.columns) for segment in self._segments]

    def candidates(self, wanted: Wanted, count: int) -> NDArray[np.int64]:
        """Rows of the highest scores; see `CandidateIndex.candidates`."""
        scores = wanted.lexical.copy()
        for vector, weight in zip(wanted.vectors, wanted.weights, strict=True):
            columns = self.columns(vector)
            for column, slope in zip(columns, wanted.slopes, strict=True):
                scores += weight * slope * column
        scores[~wanted.eligible] = -np.inf
        return best(scores, count)

    def columns(self, vector: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Cosine of a vector with every skill's document, summary and nearest passage."""
        parts: list[list[NDArray[np.float32]]] = [[], [], []]
        for segment, sums in zip(self._segments, self._sums, strict=True):
            if not len(segment):
                continue
            cosines = self._product(segment.columns, sums, vector)
            cosines *= segment.scales
            parts[0].append(cosines[segment.documents])
            parts[1].append(cosines[segment.summaries])
            passages = cosines[segment.passages]
            parts[2].append(np.maximum.reduceat(passages, segment.passage_starts[:-1]))
        nothing = np.zeros(0, np.float32)
        return [np.concatenate([nothing, *part]) for part in parts]
