"""Where the user's service lives: one private folder for socket, lock and log.

Standard library only, and without pathlib: the hook imports this on every turn.
"""

# ruff: noqa: PTH103, PTH112, PTH118

from __future__ import annotations

import os
import stat

PROTOCOL = 2
"""Raised when client and service of different versions no longer understand each other."""

ADDRESS_VARIABLE = "SKILL_ROUTER_SERVICE"
"""Environment variable: another address, a socket's path or ``http://127.0.0.1:PORT``."""

_FOLDER_VARIABLE = "SKILL_ROUTER_RUNTIME"


class PlaceError(OSError):
    """The private folder cannot be used; the message names it and the remedy."""


def runtime_folder(create: bool = False) -> str:
    """The user's private folder for the service.

    ``SKILL_ROUTER_RUNTIME`` if set, else ``skill-router`` below ``XDG_RUNTIME_DIR``, else
    ``skill-router-UID`` in the temporary folder.

    Args:
        create: Whether to make it when it is missing, with mode 0700.

    Returns:
        The path. The folder is there, is no link, belongs to this user and nobody else may enter.

    Raises:
        PlaceError: If it is not so: somebody else could have put a socket of their own there.
    """
    path = os.environ.get(_FOLDER_VARIABLE) or _default_folder()
    if create:
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise PlaceError(f"{path}: cannot be made ({error.strerror})") from error
    try:
        status = os.lstat(path)
    except OSError as error:
        raise PlaceError(f"{path}: cannot be used ({error.strerror})") from error
    if not stat.S_ISDIR(status.st_mode):
        raise PlaceError(f"{path}: is not a folder; remove it")
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
        raise PlaceError(f"{path}: must belong to you with mode 0700; run chmod 700 on it")
    return path


def _default_folder() -> str:
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isdir(base):
        return os.path.join(base, "skill-router")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"skill-router-{user}")


def socket_path(folder: str) -> str:
    """The service's socket."""
    return os.path.join(folder, f"service-{PROTOCOL}.sock")


def lock_path(folder: str) -> str:
    """The file whose lock a service holds as long as it lives."""
    return os.path.join(folder, f"service-{PROTOCOL}.lock")


def log_path(folder: str) -> str:
    """What a service that was started in the background prints."""
    return os.path.join(folder, f"service-{PROTOCOL}.log")
