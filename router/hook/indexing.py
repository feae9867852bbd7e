"""Makes the index of an agent's skills in the background, where no service can do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roster.layers import Layer, layered
from router.local.cache import cache_folder
from router.pipeline import Router


def layers_of(folders: Sequence[Any]) -> list[Layer]:
    """The folders of a request as `roster.layers.layered` takes them."""
    return [Layer(each) if isinstance(each, str) else Layer(**each) for each in folders]


def index_in_background(folders: Sequence[Any]) -> bool:
    """Start a process that makes the index, unless one is at it already.

    Args:
        folders: Folders of skills, as in a request.

    Returns:
        Whether this call has started one.

    Raises:
        OSError: If the index could not be kept, since the cache cannot be written.
    """
    lock = _lock()
    if lock is None:
        return False
    try:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "router.hook.indexing", json.dumps(list(folders))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            pass_fds=(lock,),  # held as long as the process lives
        )
    finally:
        os.close(lock)
    return True


def is_indexing() -> bool:
    """Whether such a process is at work."""
    try:
        lock = _lock()
    except OSError:
        return False
    if lock is not None:
        os.close(lock)
    return lock is None


def _lock() -> int | None:
    """The open and locked file; None when another process has it."""
    import fcntl

    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "hook-index.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except BaseException:
        os.close(lock)
        raise
    return lock


if __name__ == "__main__":
    os.nice(10)
    wanted = [each for each in layers_of(json.loads(sys.argv[1])) if Path(each.path).exists()]
    Router.load(layered(wanted))
