"""Writing a result whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path


class OutputError(ValueError):
    """A result that cannot be written; the message names the file and the cause."""


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write a file so that a reader sees the old content or the new one, never a part.

    A device or pipe (``/dev/stdout``, ``/dev/null``) is written to as it is, and the target of a
    link is replaced rather than the link.

    Args:
        path: The file; ``~`` is expanded. Its folder must exist.
        content: Text, written as UTF-8, or bytes.

    Returns:
        The path that was written.

    Raises:
        OutputError: If it cannot be written; what was there before is still there.
    """
    path = Path(path).expanduser()
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.exists() and not path.is_file() and not path.is_dir():
        return _written_through(path, data)
    path = path.resolve() if path.is_symlink() else path
    temporary = path.with_name(f".{path.name[:60]}.{secrets.token_hex(6)}")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OutputError(
            f"{path}: cannot be written ({error.strerror}); give a file in a folder that exists"
        ) from error
    return path


def _written_through(path: Path, data: bytes) -> Path:
    try:
        with path.open("wb") as file:
            file.write(data)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    return path
