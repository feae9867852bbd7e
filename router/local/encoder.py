"""What turns texts into vectors, behind one small protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from router.errors import EncoderError

QUERY_TOKENS = 96
DOCUMENT_TOKENS = 160
"""Most tokens of a request, and of a skill's document, that are encoded."""


@dataclass(frozen=True)
class Encoded:
    """Vectors of m texts.

    Attributes:
        pooled: One unit vector a text, float32, shape (m, d).
        tokens: For each text its token vectors, unit length, float32, shape (t, k).
        importance: For each text the weight of its tokens, float32, shape (t,), sum 1.
        spans: For each text where its tokens begin and end in it, in characters, int64, shape
            (t, 2), (0, 0) for what is no part of the text; empty when the encoder cannot tell.
    """

    pooled: NDArray[np.float32]
    tokens: list[NDArray[np.float32]]
    importance: list[NDArray[np.float32]]
    spans: Sequence[NDArray[np.int64]] = ()

    def spans_of(self, row: int) -> NDArray[np.int64]:
        """The spans of one text's tokens, all (0, 0) when the encoder cannot tell."""
        if len(self.spans):
            return self.spans[row]
        return np.zeros((len(self.tokens[row]), 2), dtype=np.int64)


@runtime_checkable
class Encoder(Protocol):
    """Encodes texts; thread-safe.

    Attributes:
        name: What it was loaded by.
        digest: Changes when the vectors may change; part of the index cache's key.
        dimension: Length d of a pooled vector.
        token_dimension: Length k of a token vector.

    An encoder may also have an attribute `scripts`, a frozenset of the scripts it was trained on
    (see `router.local.scripts`); without it, it counts as serving all.
    """

    name: str
    digest: str
    dimension: int
    token_dimension: int

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """Encode texts, each cut to `max_tokens` tokens; an empty text gives a vector too."""
        ...


def load_encoder(name: str | Encoder | None = None) -> Encoder:
    """The encoder of a name.

    Args:
        name: None for the shipped one; "minilm" for all-MiniLM-L6-v2 from its package; a folder or
            a sentence-transformers name (both need the extra `train`); or an encoder already made.

    Raises:
        EncoderError: If it cannot be loaded; the message says what to install or mend.
    """
    if name is not None and not isinstance(name, str):
        return name
    if name is None:
        from router.local.onnx_encoder import OnnxEncoder

        return OnnxEncoder.shipped()
    path = Path(name).expanduser()
    if (path / "encoder.onnx").is_file():
        from router.local.onnx_encoder import OnnxEncoder

        return OnnxEncoder(path)
    try:
        from router.local.torch_encoder import SentenceTransformerEncoder
    except ImportError as error:
        raise EncoderError(
            f"the encoder {name!r} needs sentence-transformers ({error}); "
            "pip install 'skill-router[train]'"
        ) from error
    return SentenceTransformerEncoder(name)
