"""An encoder that costs nothing: words hashed to fixed random vectors.

Its vectors have the shapes of the shipped encoder's, so an index made with it has the size and the
speed of a real one, and top tens can be compared with brute force. What it finds says nothing of
what the real encoder finds.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from router.local.encoder import Encoded

_WORDS = 1 << 14


class HashedEncoder:
    """Mean vectors of hashed words; see `router.local.encoder.Encoder`."""

    name = "hashed"
    digest = "ha5ed000" * 8
    dimension, token_dimension = 384, 96

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._pooled = self._table(rng, self.dimension)
        self._tokens = self._table(rng, self.token_dimension)

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """Encode texts, each cut to `max_tokens` words."""
        pooled = np.zeros((len(texts), self.dimension), np.float32)
        tokens, importance = [], []
        for row, text in enumerate(texts):
            words = text.lower().split(maxsplit=max_tokens)[:max_tokens] or [""]
            ids = [zlib.crc32(word.encode("utf-8", "replace")) % _WORDS for word in words]
            pooled[row] = self._pooled[ids].sum(axis=0)
            tokens.append(self._tokens[ids])
            importance.append(np.full(len(ids), 1.0 / len(ids), np.float32))
        pooled /= np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
        return Encoded(pooled, tokens, importance)

    @staticmethod
    def _table(rng: np.random.Generator, width: int) -> NDArray[np.float32]:
        table = rng.standard_normal((_WORDS, width)).astype(np.float32)
        table /= np.linalg.norm(table, axis=1, keepdims=True)
        return table
