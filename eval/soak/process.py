"""The service's process: started, killed, measured, and cut off from the disk."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

_DROP_BOUNDING_CAPABILITY = 24
_READ_ANYTHING = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
FULL_AT = 4_096
"""Bytes a file may have while the disk is "full"."""


class ServiceProcess:
    """`skill-router serve` on a Unix socket.

    The disk is not really filled: the kernel refuses the process any file larger than `FULL_AT`,
    which ends in the same failed writes.

    Args:
        place: Folder for socket, cache and logs.
        skills: The roster.

    Attributes:
        down: Spans of `time.monotonic` in which it was not, or not surely, there.
        resident: For each life of the process, its resident MiB once a second.
        starts: How often it was started.
    """

    def __init__(self, place: Path, skills: Path) -> None:
        self.socket = place / "s.sock"
        self.cache = place / "cache"
        self.decisions = place / "decisions.jsonl"
        self.errors = place / "service.log"
        self.down: list[tuple[float, float]] = []
        self.resident: list[list[float]] = []
        self.starts = 0
        self._skills = skills
        self._process: subprocess.Popen[bytes] | None = None
        self._full = False

    def start(self) -> None:
        """Start it and wait until it listens.

        Raises:
            RuntimeError: If it does not within a minute.
        """
        began = time.monotonic()
        command = [sys.executable, "-m", "router.service", "--roster", str(self._skills)]
        command += ["--socket", str(self.socket), "--cache", str(self.cache), "--watch", "0.25"]
        command += ["--decision-log", str(self.decisions), "--log-max-bytes", "200000"]
        with self.errors.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, preexec_fn=_read_as_others_do
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith(b"listening on"):
            raise RuntimeError(f"the service did not start: {self.errors.read_text()[-2000:]}")
        self.starts += 1
        self.resident.append([])
        self._limit()
        self.down.append((began, time.monotonic()))

    def kill(self, number: signal.Signals) -> None:
        """End it with a signal and wait until it is gone."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(number)
        self._process.wait(60)
        self.down.append((began, time.monotonic()))

    def restart(self, number: signal.Signals) -> None:
        """End it and start it again; the time between counts as down."""
        began = time.monotonic()
        self.kill(number)
        self.start()
        self.down.append((began, time.monotonic()))

    def fill_disk(self, full: bool) -> None:
        """Let its disk be full, or no longer."""
        self._full = full
        self._limit()

    def sample(self) -> None:
        """Note the resident memory."""
        assert self._process is not None
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
            self.resident[-1].append(int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20)

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def _limit(self) -> None:
        assert self._process is not None
        hard = resource.RLIM_INFINITY
        size = FULL_AT if self._full else hard
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (size, hard))


def _read_as_others_do() -> None:
    """Root reads every file whatever its mode; the service under test must not."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in _READ_ANYTHING:
            libc.prctl(_DROP_BOUNDING_CAPABILITY, capability, 0, 0, 0)
