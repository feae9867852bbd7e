"""One run of the hook: the agent's JSON in, at most one suggestion out, never an error.

Standard library only while the service answers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from select import select
from time import monotonic, sleep
from typing import Any

from router.hook.places import AGENTS, layer_paths
from router.hook.reply import hook_reply
from router.hook.request import MAX_INPUT, parse_payload, suggest_request
from router.service import client

PATIENCE = 1.5
"""Seconds after which the hook ends in silence; `SKILL_ROUTER_HOOK_SECONDS` is another number."""

ALONE = 4.0
"""The same where no service can be had, and the hook has to load the router itself."""

_ROSTER_WAIT = 0.5  # seconds for a roster whose index may only have to be read
_IDLE = "14400"  # seconds without a turn after which a service that was started here leaves


def main(arguments: Sequence[str]) -> int:
    """Run `skill-router hook`.

    Args:
        arguments: ``--agent claude|codex``, ``--roster PATH``, ``--no-service``; anything else is
            passed over, for a hook that fails would stand in the way of every turn.

    Returns:
        0, always.
    """
    try:
        began = monotonic()
        options = _options(arguments)
        if sys.stdin is None:  # closed by whoever started the hook
            return 0
        payload = parse_payload(_read(sys.stdin.fileno(), began + _patience(PATIENCE)))
        request = payload and _asked(payload, options)
        if request:
            reply = hook_reply(_decide(request, began, options.service))
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


def _asked(payload: Mapping[str, Any], options: _Options) -> dict[str, Any] | None:
    # Where Claude Code was started; the working folder may have changed since.
    project = os.environ.get("CLAUDE_PROJECT_DIR")
    return suggest_request(payload, options.agent, options.roster, project)


def _decide(
    request: Mapping[str, Any], began: float, use_service: bool
) -> Mapping[str, Any] | None:
    """Ask the service; start it when none runs; answer here when it cannot be had.

    A service that is there but not ready costs the turn no more than `PATIENCE`: it makes itself
    ready for the turns to come.
    """
    end = began + _patience(PATIENCE)
    paths = layer_paths(request["roster"])
    if use_service and all(os.path.isdir(path) for path in paths):  # noqa: PTH112
        question = {**request, "roster_wait_s": min(_ROSTER_WAIT, _left(end))}
        reached, answer = client.reach(question, _left(end))
        if reached:
            return answer
        if client.start(("--idle", _IDLE, "--warm", json.dumps({"roster": request["roster"]}))):
            while monotonic() < end:
                reached, answer = client.reach(question, _left(end))
                if reached:
                    return answer
                sleep(0.05)
            return None
    return _here(request, began + _patience(ALONE))


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


def _read(handle: int, end: float) -> bytes:
    """The input, up to its end; b"" when it does not end in time or is too long."""
    chunks: list[bytes] = []
    left = MAX_INPUT
    while _is_ready(handle, end):
        chunk = os.read(handle, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        left -= len(chunk)
        if left < 0:
            break
    return b""


def _is_ready(handle: int, end: float) -> bool:
    """Wait until there is something to be read, or the end of it."""
    if os.name == "nt":  # Windows waits for sockets alone
        return True
    return bool(select([handle], [], [], _left(end))[0])


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


def _patience(default: float) -> float:
    try:
        return min(max(float(os.environ.get("SKILL_ROUTER_HOOK_SECONDS", default)), 0.1), 600.0)
    except ValueError:
        return default


def _left(end: float) -> float:
    return max(end - monotonic(), 0.05)
