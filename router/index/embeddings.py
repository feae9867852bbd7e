"""Vectors of texts on disk, by the digest of the text: what was embedded once is never again.

Each batch is one immutable file, so a run that is stopped loses at most the batch it was at, and
several processes may add at the same time: the worst is a text that two of them embed.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from router.index.arrays import ArrayFileError, map_arrays, write_arrays
from router.local.encoder import DOCUMENT_TOKENS, Encoder
from router.local.vectors import quantize

_STEM = "texts"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TextBatch:
    """Vectors of m texts.

    Attributes:
        keys: Keys, shape (m, 16).
        pooled: Unit vectors, float16, shape (m, d).
        tokens: Token vectors of the texts for which they were wanted, int8, shape (t, k).
        token_starts: Where each text's tokens begin, shape (m + 1,).
    """

    keys: NDArray[np.uint8]
    pooled: NDArray[np.float16]
    tokens: NDArray[np.int8]
    token_starts: NDArray[np.int64]


def embed_texts(encoder: Encoder, keyed: Sequence[tuple[bytes, str, bool]]) -> TextBatch:
    """Embed texts.

    Args:
        encoder: The encoder.
        keyed: Key, text, and whether token vectors are wanted.
    """
    encoded = encoder.encode([text for _, text, _ in keyed], DOCUMENT_TOKENS)
    tokens = [
        quantize(rows) if wanted else np.zeros((0, encoder.token_dimension), np.int8)
        for rows, (_, _, wanted) in zip(encoded.tokens, keyed, strict=True)
    ]
    return TextBatch(
        keys=np.frombuffer(b"".join(key for key, _, _ in keyed), np.uint8).reshape(-1, 16),
        pooled=encoded.pooled.astype(np.float16),
        tokens=np.concatenate(tokens),
        token_starts=np.concatenate([[0], np.cumsum([len(rows) for rows in tokens])]).astype(
            np.int64
        ),
    )


class EmbeddingStore:
    """The vectors of one encoder in one folder.

    Args:
        folder: The folder.
        encoder: Its digest names the subfolder: vectors of two encoders never meet.
    """

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self.dimension, self.token_dimension = encoder.dimension, encoder.token_dimension
        self.folder = folder / f"embeddings-1-{encoder.digest[:16]}"
        self._batches: list[TextBatch] = []
        self._seen: set[str] = set()
        self._place: dict[bytes, tuple[int, int]] = {}
        self.refresh()

    def __len__(self) -> int:
        """How many texts have vectors."""
        return len(self._place)

    def __contains__(self, key: bytes) -> bool:
        """Whether a text has vectors."""
        return key in self._place

    def refresh(self) -> None:
        """Take in the batches that this or another process has written meanwhile."""
        for path in sorted(self.folder.glob(f"{_STEM}-*.safetensors")):
            if path.name in self._seen:
                continue
            try:
                self._take(self._checked(path))
            except ArrayFileError as error:
                _log.warning("%s; its texts are embedded again", error)
                with contextlib.suppress(OSError):
                    path.unlink()
            else:
                self._seen.add(path.name)

    def missing(self, keyed: Iterable[tuple[bytes, str, bool]]) -> list[tuple[bytes, str, bool]]:
        """Those without vectors, each once, in the order given."""
        found: dict[bytes, tuple[bytes, str, bool]] = {}
        for item in keyed:
            if item[0] not in self._place:
                found.setdefault(item[0], item)
        return list(found.values())

    def add(self, batch: TextBatch) -> None:
        """Keep a batch, on disk and at hand.

        Raises:
            OSError: If the folder cannot be written.
        """
        path = write_arrays(self.folder, _STEM, vars(batch))
        if path.name not in self._seen:
            self._seen.add(path.name)
            self._take(self._checked(path, verify=False))

    def pooled(self, keys: Sequence[bytes]) -> NDArray[np.float16]:
        """Unit vectors of texts, shape (len(keys), d).

        Raises:
            KeyError: If one has none.
        """
        found = np.empty((len(keys), self.dimension), np.float16)
        for at, key in enumerate(keys):
            batch, row = self._place[key]
            found[at] = self._batches[batch].pooled[row]
        return found

    def tokens(self, key: bytes) -> NDArray[np.int8]:
        """Token vectors of a text, shape (t, k).

        Raises:
            KeyError: If it has no vectors.
        """
        place, row = self._place[key]
        batch = self._batches[place]
        return batch.tokens[batch.token_starts[row] : batch.token_starts[row + 1]]

    def _checked(self, path: Path, verify: bool = True) -> TextBatch:
        arrays, _ = map_arrays(path, verify)
        try:
            batch = TextBatch(**arrays)  # type: ignore[arg-type]
        except TypeError as error:
            raise ArrayFileError(f"{path}: holds other arrays ({error})") from error
        m, starts = len(batch.keys), batch.token_starts
        good = (
            batch.keys.shape == (m, 16)
            and batch.pooled.shape == (m, self.dimension)
            and batch.tokens.shape[1:] == (self.token_dimension,)
            and len(starts) == m + 1
            and starts[0] == 0
            and starts[-1] == len(batch.tokens)
            and bool((np.diff(starts) >= 0).all())
            and bool(np.isfinite(batch.pooled).all())
        )
        if not good:
            raise ArrayFileError(f"{path}: its arrays do not fit together")
        return batch

    def _take(self, batch: TextBatch) -> None:
        at = len(self._batches)
        self._batches.append(batch)
        for row, key in enumerate(batch.keys):
            self._place.setdefault(key.tobytes(), (at, row))
