"""A run that is killed loses nothing and pays for nothing twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.eval.messages_server import MessagesServer, Say

ROOT = Path(__file__).parent.parent.parent
TURNS = 24  # twelve turns, two arms that never send the same


def start(server: MessagesServer, store: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.eval.agent_process", server.url, str(store)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def kept(store: Path) -> int:
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])
    finally:
        db.close()


@pytest.mark.parametrize(
    "sent", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_kill_and_resume(tmp_path: Path, sent: signal.Signals) -> None:
    store, go_on = tmp_path / "s.sqlite", threading.Event()

    def plan(number: int, body: dict[str, Any]) -> Say | None:
        # Seven good answers; the rest wait, and are cut off without one.
        return Say(cut=True, hold=go_on) if 7 <= number < 10 else None

    with MessagesServer(plan) as server:
        first = start(server, store)
        until(lambda: len(server.seen) == 10 and kept(store) == 7)
        first.send_signal(sent)
        if sent == signal.SIGKILL:
            first.wait(10)
            go_on.set()
        else:  # an interrupted run waits for the calls under way, and starts no others
            time.sleep(0.3)
            go_on.set()
            first.wait(30)
        first.communicate()
        assert first.returncode != 0
        in_between = len(server.seen)
        second = start(server, store)
        out, err = second.communicate(timeout=60)
        assert second.returncode == 0, err
    live, interrupted, unanswered = map(int, out.split())
    assert unanswered == 0
    assert set(server.answered.values()) == {1}, "no good answer was asked for twice"
    assert len(server.answered) == TURNS
    assert live == TURNS - 7 if sent == signal.SIGKILL else live <= TURNS - 7
    assert len(server.seen) - in_between == live
    # Killed: three requests were under way, and nobody knows what became of them.
    assert interrupted == (3 if sent == signal.SIGKILL else 0)
