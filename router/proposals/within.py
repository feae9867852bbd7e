"""Calls that are given up when they take too long, and what they may know of it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

Value = TypeVar("Value")

_MARGIN_SHARE = 0.05
_MARGIN_S = 0.1

# Not state of the module: every thread and task has its own value.
_until: contextvars.ContextVar[float | None] = contextvars.ContextVar(
    "skill_router_until", default=None
)


class LateError(Exception):
    """The call had not returned in time. It may still be running; nobody waits for it."""


def time_left() -> float | None:
    """Seconds that the code here still has, 0 or less when they are over; None without a limit.

    Inside `call_within` and `await_within` it is a little less than what the caller waits, so that
    a call that stops in time can still say what it did. The tightest limit around counts.
    """
    until = _until.get()
    return None if until is None else until - monotonic()


def call_within(function: Callable[[], Value], seconds: float | None) -> Value:
    """Call a function, waiting at most so long.

    Args:
        function: Called in a daemon thread, so that a stuck call keeps no process alive; in this
            thread when there is no limit. It sees the limit as `time_left`.
        seconds: The limit, or None.

    Returns:
        What the function returns.

    Raises:
        LateError: If it has not returned in time.
    """
    if seconds is None:
        return function()
    results: list[Value] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()
    context.run(_until.set, _limit(seconds))

    def run() -> None:
        try:
            results.append(context.run(function))
        except BaseException as error:  # handed to the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name="skill-router-call", daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if errors:
        raise errors[0]
    if not results:
        raise LateError(f"no answer within {seconds:.3g} s")
    return results[0]


async def await_within(start: Callable[[], Awaitable[Value]], seconds: float | None) -> Value:
    """`call_within` for asyncio: at the limit the awaitable is cancelled.

    Raises:
        LateError: If it has not finished in time.
    """
    if seconds is None:
        return await start()
    token = _until.set(_limit(seconds))
    try:
        async with asyncio.timeout(seconds) as limit:
            return await start()
    except TimeoutError as error:
        # The awaitable's own timeout is an error of its own.
        if limit.expired():
            raise LateError(f"no answer within {seconds:.3g} s") from error
        raise
    finally:
        _until.reset(token)


def _limit(seconds: float) -> float:
    until = monotonic() + seconds - min(_MARGIN_S, _MARGIN_SHARE * seconds)
    outer = _until.get()
    return until if outer is None else min(outer, until)
