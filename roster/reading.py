"""Bounded reads of files that strangers wrote."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from pathlib import Path

from roster.errors import RosterNotFoundError
from roster.problem import Problem
from roster.text import encodable

DEFAULT_MAX_BYTES = 1 << 20
"""Largest SKILL.md that is read, in bytes."""

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def existing_path(path: str | os.PathLike[str]) -> str:
    """A path with ``~`` expanded.

    Raises:
        RosterNotFoundError: If nothing is there.
    """
    place = str(path)
    if not place:
        raise RosterNotFoundError("the path of the roster is empty; give a folder or a file")
    try:
        place = str(Path(path).expanduser())
        Path(place).stat()
    except FileNotFoundError:
        raise RosterNotFoundError(f"{place} does not exist; check the path of the roster") from None
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RosterNotFoundError(
            f"{place!r} cannot be opened ({reason}); check the path of the roster"
        ) from None
    return place


def read_bytes(path: str, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes | Problem:
    """Read a whole regular file, or say why not.

    The file is opened once, without following a link in its last component and without blocking,
    and never more than ``max_bytes + 1`` bytes are read, so neither a pipe, a device nor a file
    that grows meanwhile can hold the reader up.

    Args:
        path: The file.
        max_bytes: The largest accepted size in bytes.

    Returns:
        The bytes, or the problem that prevented reading them.
    """
    try:
        handle = os.open(path, _FLAGS)
    except OSError as error:
        return _refusal(path, error)
    except ValueError:
        return _error(path, "unreadable", "the path holds a NUL character", "rename the file")
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return _error(
                path,
                "not-a-file",
                "this is not a regular file",
                "replace it with a plain text file",
            )
        chunks: list[bytes] = []
        left = max_bytes + 1
        while left > 0 and (chunk := os.read(handle, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
    except OSError as error:
        return _refusal(path, error)
    finally:
        os.close(handle)
    if left <= 0:
        return _error(
            path,
            "too-large",
            f"the file is larger than {max_bytes} bytes",
            "move material into separate files, or raise max_bytes",
        )
    return b"".join(chunks)


def decode(data: bytes, path: str) -> tuple[str, list[Problem]]:
    """Decode a text file as UTF-8 (or as UTF-16, when it starts with that byte order mark).

    Line ends become ``\\n``, a byte order mark is dropped, and every byte that is not text is
    replaced by U+FFFD.

    Args:
        data: The bytes of the file.
        path: The file, for the problems.

    Returns:
        The text and the problems met.
    """
    problems: list[Problem] = []
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", errors="replace")
        problems.append(_warning(path, 1, "not-utf-8", "the file is UTF-16", "save it as UTF-8"))
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            problems.append(
                _warning(
                    path,
                    line,
                    "not-utf-8",
                    f"byte 0x{data[error.start]:02x} is not UTF-8",
                    "save the file as UTF-8",
                )
            )
            text = data.decode("utf-8", errors="replace")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        problems.append(_warning(path, line, "nul", "the file holds a NUL character", "delete it"))
    return encodable(text), problems


def _refusal(path: str, error: OSError) -> Problem:
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return _error(
            path,
            "symlink",
            "the file is a symbolic link, which is not followed",
            "put the file itself there, or link its folder instead",
        )
    reason = error.strerror or type(error).__name__
    return _error(
        path, "unreadable", f"cannot be read ({reason})", "make the file readable or remove it"
    )


def _error(path: str, code: str, message: str, remedy: str) -> Problem:
    return Problem(
        path=encodable(path), severity="error", code=code, message=message, remedy=remedy
    )


def _warning(path: str, line: int, code: str, message: str, remedy: str) -> Problem:
    return Problem(
        path=encodable(path),
        line=line,
        severity="warning",
        code=code,
        message=message,
        remedy=remedy,
    )
