"""Named arrays in one file, named by its content, that many processes map read-only.

The file is of the safetensors layout (eight bytes with the header's length, a JSON header, the
arrays), so that the library of that name reads it too. It is written here because the arrays of a
large index are appended one after another and never lie in memory together.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.errors import RouterError

Array = NDArray[np.generic]

_CODES: dict[str, np.dtype[Any]] = {
    "U8": np.dtype("<u1"),
    "I8": np.dtype("<i1"),
    "U16": np.dtype("<u2"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_NAMES = {dtype: code for code, dtype in _CODES.items()}
_ALIGN = 64
_MOST_HEADER = 1 << 20
_CHUNK = 1 << 22


class ArrayFileError(RouterError):
    """An array file is missing, damaged or of another kind; the message says which."""


def write_arrays(
    folder: Path,
    stem: str,
    arrays: Mapping[str, Array | Sequence[Array]],
    meta: Mapping[str, str] | None = None,
) -> Path:
    """Write arrays to a file whose name ends with the digest of its bytes.

    The file appears whole or not at all.

    Args:
        folder: The folder; it is made when it is missing.
        stem: Start of the file's name.
        arrays: Each array, or its pieces along the first axis, which are written one by one.
        meta: Short texts for the header.

    Returns:
        The file's path, ``stem-<32 hex digits>.safetensors``.

    Raises:
        OSError: If the folder cannot be written.
    """
    header: dict[str, object] = {"__metadata__": dict(meta or {})}
    parts: list[tuple[Array, ...]] = []
    at = 0
    for name, given in arrays.items():
        pieces = (given,) if isinstance(given, np.ndarray) else tuple(given)
        first = pieces[0]
        shape = (sum(len(piece) for piece in pieces), *first.shape[1:])
        size = sum(piece.nbytes for piece in pieces)
        code = _NAMES[first.dtype.newbyteorder("<")]
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [at, at + size]}
        parts.append(pieces)
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGN)
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        digest = hashlib.sha256()
        with os.fdopen(handle, "wb") as file:
            for block in (len(text).to_bytes(8, "little"), text):
                file.write(block)
                digest.update(block)
            for pieces in parts:
                for piece in pieces:
                    data = np.ascontiguousarray(piece).data.cast("B") if piece.size else b""
                    file.write(data)
                    digest.update(data)
            file.flush()
            os.fsync(file.fileno())
        path = folder / f"{stem}-{digest.hexdigest()[:32]}.safetensors"
        # One of that name may be there, whole or damaged; who has it mapped keeps it.
        Path(temporary).replace(path)
        return path
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def map_arrays(path: Path, verify: bool = True) -> tuple[dict[str, Array], dict[str, str]]:
    """Map the arrays of a file, read-only: pages are read when they are touched, and shared.

    Args:
        path: The file, as `write_arrays` named it.
        verify: Whether to compare the content with the digest in the name: one sequential read.

    Returns:
        The arrays, and the short texts of the header.

    Raises:
        ArrayFileError: If the file is missing or damaged.
    """
    try:
        if verify:
            _verify(path)
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= min(_MOST_HEADER, size - 8):
                raise ArrayFileError(f"{path}: is no array file, or is cut")
            header = json.loads(file.read(length))
            whole = np.memmap(file, dtype=np.uint8, mode="r")
        meta = {str(key): str(value) for key, value in header.pop("__metadata__", {}).items()}
        return {name: _view(whole, 8 + length, entry) for name, entry in header.items()}, meta
    except ArrayFileError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ArrayFileError(f"{path}: cannot be read as an array file ({error})") from error


def _view(whole: NDArray[np.uint8], base: int, entry: Mapping[str, Any]) -> Array:
    first, last = (int(offset) for offset in entry["data_offsets"])
    shape = tuple(int(length) for length in entry["shape"])
    dtype = _CODES[str(entry["dtype"])]
    wanted = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if first < 0 or last - first != wanted or base + last > len(whole) or min(shape, default=0) < 0:
        raise ValueError("its arrays reach beyond the file")
    # A plain array on the mapping: slices of `np.memmap` cost microseconds each.
    array: Array = np.asarray(whole[base + first : base + last]).view(dtype).reshape(shape)
    return array


def _verify(path: Path) -> None:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    if digest.hexdigest()[:32] != path.stem.rsplit("-", 1)[-1]:
        raise ArrayFileError(f"{path}: its bytes are not those its name stands for")
