"""When the next call may start: a steady rate, and a common pause when the server asks for one."""

from __future__ import annotations

import threading
import time


class Pacer:
    """Shared by all workers. A refusal for one of them is a pause for all of them.

    Args:
        per_minute: Most calls a minute, or None for no limit of our own.
    """

    def __init__(self, per_minute: int | None = None) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0
        self._stopped = threading.Event()

    def wait(self) -> bool:
        """Wait for the turn of this call; False when the run was stopped instead."""
        while True:
            with self._lock:
                now = time.monotonic()
                if now >= self._next:
                    self._next = now + self._gap
                    return not self._stopped.is_set()
                delay = self._next - now
            if self._stopped.wait(delay):
                return False

    def pause(self, seconds: float) -> None:
        """Let no call start for so many seconds."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def sleep(self, seconds: float) -> None:
        """Let one worker sleep, unless the run is stopped."""
        self._stopped.wait(seconds)

    def stop(self) -> None:
        """Wake every worker that waits; no call starts any more."""
        self._stopped.set()
