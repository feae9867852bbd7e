"""A call that is given up when it takes too long."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


class LateError(Exception):
    """The call had not returned in time. It may still be running; nobody waits for it."""


def call_within(function: Callable[[], Value], seconds: float | None) -> Value:
    """Call a function, waiting at most so long.

    Args:
        function: Called in a daemon thread, so that a stuck call keeps no process alive; in this
            thread when there is no limit.
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
