"""One run of the hook: the agent's JSON in, at most one suggestion out, never an error.

Standard library only while the service answers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from router.hook.places import AGENTS
from router.hook.reply import hook_reply
from router.hook.request import MAX_INPUT, parse_payload, suggest_request
from router.service import client

PATIENCE = 8.0
"""Seconds after which the hook ends in silence; `SKILL_ROUTER_HOOK_SECONDS` is another number."""

_STARTING = 3.0
_IDLE = "1800"  # seconds without a turn after which a service that was started here leaves


def main(arguments: Sequence[str]) -> int:
    """Run `skill-router hook`.

    Args:
        arguments: ``--agent claude|codex``, ``--roster PATH``, ``--no-service``; anything else is
            passed over, for a hook that fails would stand in the way of every turn.

    Returns:
        0, always.
    """
    try:
        end = monotonic() + _patience()
        options = _options(arguments)
        if sys.stdin is None:  # closed by whoever started the hook
            return 0
        payload = parse_payload(_read(sys.stdin.fileno()))
        request = payload and suggest_request(payload, options.agent, options.roster)
        if request:
            reply = hook_reply(_decide(request, end, options.service))
            if reply:
                _write(json.dumps(reply))
    except Exception as error:  # whatever it is, the user's turn goes on
        _complain(error)
    return 0


class _Options:
    def __init__(self) -> None:
        self.agent: str | None = None
        self.roster: str | None = None
        self.service = True


def _options(arguments: Sequence[str]) -> _Options:
    options = _Options()
    rest = iter(arguments)
    for argument in rest:
        key, equals, value = argument.partition("=")
        if key in ("--agent", "--roster") and not equals:
            value = next(rest, "")
        if key == "--agent" and value in AGENTS:
            options.agent = value
        elif key == "--roster" and value:
            options.roster = os.path.realpath(os.path.expanduser(value))  # noqa: PTH111
        elif key == "--no-service":
            options.service = False
    return options


def _decide(request: Mapping[str, Any], end: float, use_service: bool) -> Mapping[str, Any] | None:
    """Ask the service; start it when none runs; answer here when it cannot be had."""
    if use_service and all(os.path.isdir(folder) for folder in request["roster"]):  # noqa: PTH112
        answer = client.ask(request, _left(end))
        if answer is not None:
            return answer
        if client.is_running():
            return None  # it is there and refuses, or is busy: a second try would only wait longer
        wait = min(_STARTING, _left(end) / 2)
        if client.ensure_running(wait, arguments=("--idle", _IDLE)):
            return client.ask(request, _left(end))
    return _here(request, end)


def _here(request: Mapping[str, Any], end: float) -> Mapping[str, Any] | None:
    """The decision of a router in this process, if it is found in time."""
    from threading import Thread

    found: list[Mapping[str, Any]] = []

    def work() -> None:
        try:
            from router.hook.direct import decide

            found.append(decide(request))
        except Exception as error:  # reported below; a thread's traceback helps nobody
            _complain(error)

    # A daemon: when time is up, the process ends without waiting for it.
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(_left(end))
    return found[0] if found else None


def _read(handle: int) -> bytes:
    chunks: list[bytes] = []
    left = MAX_INPUT + 1
    while left > 0 and (chunk := os.read(handle, min(left, 1 << 16))):
        chunks.append(chunk)
        left -= len(chunk)
    # An input cut off is no JSON: the hook says nothing.
    return b"".join(chunks)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError:
        # The agent no longer listens; Python must not complain about that when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(error: Exception) -> None:
    # Agents show what a successful hook writes to stderr only when they are asked to.
    print(f"skill-router: {type(error).__name__}: {error}"[:500], file=sys.stderr)


def _patience() -> float:
    try:
        return min(max(float(os.environ.get("SKILL_ROUTER_HOOK_SECONDS", PATIENCE)), 0.1), 600.0)
    except ValueError:
        return PATIENCE


def _left(end: float) -> float:
    return max(end - monotonic(), 0.05)
