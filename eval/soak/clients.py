"""Clients of the service, and the sorting of what it answers."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_S = 60.0
_REASONS = {"suggested", "gate", "fits", "already_loaded", "ineligible"}
_WORDS = (
    "mend my kite",
    "bake some bread",
    "file the taxes",
    "oil the bike",
    "prune the roses",
    "what is a rose?",
    "thanks!",
    "glaze this pot",
    "fold the map",
    "brew tea",
)
_BAD = (
    b"",
    b"{",
    b"[]",
    b'{"request": 5}',
    b'{"request": "a", "request": "b"}',
    b"\xff",
    b'{"request": "a", "roster": ["relative"]}',
    b'{"request": "' + b"a" * 500_000 + b'"}',
)


@dataclass
class Seen:
    """What all clients saw.

    Attributes:
        outcomes: Clean answers and clean errors, by kind.
        faults: Anything else, by kind.
        answers: How often each (roster digest, name) was answered.
        lost: Spans of requests whose connection broke.
        slowest_s: Longest wait for an answer.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    answers: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    lost: list[tuple[float, float]] = field(default_factory=list)
    slowest_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._path = str(path)

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def ask_until(path: Path, seed: int, stop: threading.Event, seen: Seen) -> None:
    """One client: asks, one request after the other, until it is told to stop."""
    chance = random.Random(seed)
    connection = UnixConnection(path)
    while not stop.is_set():
        began = time.monotonic()
        try:
            kind = _ask(connection, chance, seen)
            with seen.lock:
                seen.outcomes[kind] += 1
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            with seen.lock:
                if isinstance(error, TimeoutError):
                    seen.faults["no answer in time"] += 1
                else:
                    seen.lost.append((began, time.monotonic()))
            stop.wait(0.25)  # it is being restarted
        except (AssertionError, ValueError, KeyError, TypeError) as error:
            with seen.lock:
                seen.faults[f"{type(error).__name__}: {str(error)[:160]}"] += 1
        with seen.lock:
            seen.slowest_s = max(seen.slowest_s, time.monotonic() - began)
    connection.close()


def _ask(connection: UnixConnection, chance: random.Random, seen: Seen) -> str:
    """One exchange; the kind of its outcome."""
    what = chance.random()
    words = f"{chance.choice(_WORDS)} (no. {chance.randrange(10**6)})"
    if what < 0.05:
        return _bad(connection, chance.choice(_BAD))
    if what < 0.08:
        status, body = _exchange(connection, "GET", "/healthz", None)
        assert status == 200 and json.loads(body)["status"] in ("ok", "degraded"), body[:200]
        return "health"
    if what < 0.1:
        status, body = _exchange(connection, "GET", "/metrics", None)
        assert status == 200 and b"skill_router_" in body, "no metrics"
        return "metrics"
    if what < 0.2:
        asked = {"hook_event_name": "UserPromptSubmit", "prompt": words, "cwd": "/nonexistent"}
        status, body = _exchange(connection, "POST", "/v1/hook", json.dumps(asked).encode())
        return "hook" if status in (200, 204) else _refused(status, body)
    status, body = _exchange(
        connection, "POST", "/v1/suggest", json.dumps({"request": words}).encode()
    )
    if status != 200:
        return _refused(status, body)
    answer = json.loads(body)
    assert answer["reason"] in _REASONS, f"reason {answer['reason']}: {answer['detail']}"
    assert (answer["name"] is not None) == (answer["reason"] == "suggested"), "name and reason"
    assert answer["name"] is None or answer["name"] in answer["block"], "a block of another skill"
    with seen.lock:
        seen.answers[answer["roster_digest"], answer["name"]] += 1
    return "suggestion" if answer["name"] else "silence"


def _bad(connection: UnixConnection, body: bytes) -> str:
    status, answer = _exchange(connection, "POST", "/v1/suggest", body)
    assert 400 <= status < 500, f"status {status} for a bad body"
    _refused(status, answer)
    return "bad body refused"


def _refused(status: int, body: bytes) -> str:
    assert status in (400, 403, 404, 413, 422, 429, 503), f"status {status}: {body[:200]!r}"
    problem = json.loads(body)
    assert problem["status"] == status and problem["detail"], "a problem without a detail"
    assert "Traceback" not in problem["detail"], "a traceback"
    return {429: "busy", 503: "late"}.get(status, f"refused: {problem['detail'][:60]}")


def _exchange(
    connection: UnixConnection, method: str, path: str, body: bytes | None
) -> tuple[int, bytes]:
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()
