"""A segment: some skills of a large index, in one immutable file that processes share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.index.arrays import Array, ArrayFileError, map_arrays, write_arrays
from router.index.lexical import Postings, Vocabulary, slices

STEM = "segment"


@dataclass(frozen=True)
class Segment:
    """Vectors and terms of m skills.

    A vector that several skills or passages share is stored once; `documents`, `summaries` and
    `passages` say which one is whose.

    Attributes:
        path: Its file.
        keys: Key of each skill (`router.index.groups.group_key`), shape (m, 16).
        vectors: Distinct vectors, int8, shape (u, d).
        columns: The same, each in a column, as a scan of all of them reads them; shape (d, u).
        scales: What a vector's integers are multiplied by, shape (u,).
        documents: Vector of each skill's document, shape (m,).
        summaries: Vector of each skill's summary, shape (m,).
        passages: Vectors of all body pieces, shape (p,).
        passage_starts: Where each skill's pieces begin, shape (m + 1,).
        tokens: Token vectors of the distinct documents, int8, shape (t, k).
        token_starts: Where each distinct document's tokens begin, shape (v + 1,).
        token_rows: Distinct document of each skill, shape (m,).
        word: Words over all text.
        front: Words over name, category and description.
        char: Character n-grams over all text.
        reader: Reads tokens.
    """

    path: Path
    keys: NDArray[np.uint8]
    vectors: NDArray[np.int8]
    columns: NDArray[np.int8]
    scales: NDArray[np.float32]
    documents: NDArray[np.int32]
    summaries: NDArray[np.int32]
    passages: NDArray[np.int32]
    passage_starts: NDArray[np.int64]
    tokens: NDArray[np.int8]
    token_starts: NDArray[np.int64]
    token_rows: NDArray[np.int32]
    word: Postings
    front: Postings
    char: Postings
    reader: FileReader

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def key_list(self) -> tuple[bytes, ...]:
        """The keys as bytes."""
        return tuple(key.tobytes() for key in self.keys)

    @classmethod
    def open(cls, path: Path, dimension: int, token_dimension: int, verify: bool = True) -> Segment:
        """Map a segment's file.

        Args:
            path: The file.
            dimension: Length of a pooled vector.
            token_dimension: Length of a token vector.
            verify: Whether to compare the bytes with the digest in the file's name.

        Raises:
            ArrayFileError: If the file is missing or damaged.
        """
        arrays, _ = map_arrays(path, verify)
        try:
            reader = FileReader(path)  # from here on the file may be removed
            segment = cls(
                path=path,
                **{name: arrays[name] for name in _PLAIN},  # type: ignore[arg-type]
                word=_postings(arrays, "word", reader),
                front=_postings(arrays, "front", reader),
                char=_postings(arrays, "char", reader),
                reader=reader,
            )
            problem = _problem(segment, dimension, token_dimension)
        except (KeyError, IndexError, TypeError) as error:
            raise ArrayFileError(f"{path}: lacks an array ({error})") from error
        if problem:
            raise ArrayFileError(f"{path}: {problem}")
        return segment

    def unit(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Vectors as float32, shape (len(ids), d)."""
        rows: NDArray[np.float32] = self.vectors[ids].astype(np.float32)
        rows *= self.scales[ids][:, None]
        return rows

    def passage_ids(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Vectors of the body pieces of some skills, and how many each has."""
        starts = self.passage_starts[rows]
        lengths = self.passage_starts[rows + 1] - starts
        return self.passages[spans(starts, lengths)], lengths

    def read_tokens(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Token vectors of some skills, and how many each has.

        They are read rather than mapped: see `FileReader`.
        """
        owners, width = self.token_rows[rows], self.tokens.shape[1]
        firsts, lasts = self.token_starts[owners], self.token_starts[owners + 1]
        runs = list(zip((firsts * width).tolist(), (lasts * width).tolist(), strict=True))
        return self.reader.runs(self.tokens, runs).reshape(-1, width), lasts - firsts


def spans(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places ``start, start + 1, ...`` of runs, one run after another."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


_PLAIN = (
    "keys", "vectors", "columns", "scales", "documents", "summaries", "passages", "passage_starts",
    "tokens", "token_starts", "token_rows",
)  # fmt: skip


_PARTS = ("starts", "entries", "norms")


class FileReader:
    """Reads runs of a mapped array through the file.

    Every page of a mapping that was ever touched counts as the process's memory. Tokens and
    postings are most of a segment, and a turn needs those of a few hundred skills and terms: read,
    they stay in the system's page cache, which all processes share, and leave the process no
    larger.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)

    def runs(self, array: Array, spans: Sequence[tuple[int, int]]) -> Any:
        """Runs of an array seen as flat, one after another; see `lexical.Runs`."""
        whole = array.reshape(-1)
        if not hasattr(os, "preadv"):  # Windows
            return slices(whole, spans)
        base, size = file_offset(array), array.dtype.itemsize
        found = np.empty(sum(last - first for first, last in spans), array.dtype)
        room, at, handle = found.data.cast("B"), 0, self._file.fileno()
        for first, last in spans:
            length = (last - first) * size
            if os.preadv(handle, [room[at : at + length]], base + first * size) != length:
                raise OSError(f"{self._file.name} was cut while it was open")
            at += length
        return found


def file_offset(array: Array) -> int:
    """Where a mapped array begins in its file."""
    whole: Any = None
    base: Any = array
    while isinstance(base, np.ndarray):
        whole = base if isinstance(base, np.memmap) else whole
        base = base.base
    if whole is None:
        raise ValueError("this array is not mapped from a file")
    # The outermost map begins where the file does; slices of it are maps too.
    start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return int(start)


def write_segment(folder: Path, arrays: dict[str, Array | Sequence[Array]]) -> Path:
    """Write a segment's arrays, named as `flat` names them; see `write_arrays`."""
    return write_arrays(folder, STEM, arrays)


def flat(**lexical: Postings) -> dict[str, Array | Sequence[Array]]:
    """The lexical arrays under the names they have in a file."""
    arrays: dict[str, Array | Sequence[Array]] = {}
    for name, postings in lexical.items():
        arrays[f"{name}.terms"] = postings.vocabulary.terms
        arrays[f"{name}.frequency"] = postings.vocabulary.frequency
        for part in _PARTS:
            arrays[f"{name}.{part}"] = getattr(postings, part)
    return arrays


def _postings(arrays: dict[str, Array], name: str, reader: FileReader) -> Postings:
    parts: dict[str, Any] = {part: arrays[f"{name}.{part}"] for part in _PARTS}
    terms: Any = arrays[f"{name}.terms"]
    frequency: Any = arrays[f"{name}.frequency"]
    return Postings(Vocabulary(terms, frequency), **parts, runs=reader.runs)


def _problem(segment: Segment, dimension: int, token_dimension: int) -> str | None:
    """What does not fit together, or None: better found now than on a turn.

    The digest in the file's name guards the bytes; this guards against a file that another
    program wrote. Long arrays are judged by their ends.
    """
    m, u = len(segment.keys), len(segment.vectors)
    if segment.keys.shape != (m, 16) or segment.vectors.shape != (u, dimension):
        return "its vectors are of another encoder"
    if segment.tokens.shape[1:] != (token_dimension,):
        return "its tokens are of another encoder"
    lengths = [
        segment.columns.shape == (dimension, u),
        np.array_equal(segment.columns[:, :1], segment.vectors[:1].T),
        np.array_equal(segment.columns[:, -1:], segment.vectors[-1:].T),
        len(segment.scales) == u,
        len(segment.documents) == len(segment.summaries) == len(segment.token_rows) == m,
        _partition(segment.passage_starts, m, len(segment.passages)),
        _partition(segment.token_starts, len(segment.token_starts) - 1, len(segment.tokens)),
    ]
    ids = (segment.documents, segment.summaries, segment.passages)
    inside = all(not len(one) or (one.min() >= 0 and one.max() < u) for one in ids)
    token_rows = segment.token_rows
    inside &= not m or (token_rows.min() >= 0 and token_rows.max() < len(segment.token_starts) - 1)
    for postings in (segment.word, segment.front, segment.char):
        v = len(postings.vocabulary.terms)
        lengths += [
            _partition(postings.starts, v, len(postings.entries)),
            len(postings.norms) == m,
            len(postings.vocabulary.frequency) == v,
        ]
    if not all(lengths) or not inside:
        return "its arrays do not fit together"
    return None if np.isfinite(segment.scales).all() else "it holds numbers that are not finite"


def _partition(starts: NDArray[np.int64], parts: int, total: int) -> bool:
    return len(starts) == parts + 1 and int(starts[0]) == 0 and int(starts[-1]) == total
