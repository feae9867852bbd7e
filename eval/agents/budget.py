"""A cap on spending that holds with many calls in the air."""

from __future__ import annotations

import threading

from eval.agents.protocol import AgentRequest


class BudgetSpentError(Exception):
    """The next call could go over a cap; it was not made."""


class Budget:
    """Counts calls and tokens, and refuses the call that could go over a cap.

    A call reserves what it can cost at most before it is made, and gives back the rest afterwards.
    Every attempt that reached the server counts as a call.

    Args:
        calls: Most calls, or None.
        tokens: Most tokens, input of every kind and output together, or None.
    """

    def __init__(self, calls: int | None = None, tokens: int | None = None) -> None:
        self._most_calls = calls
        self._most_tokens = tokens
        self._lock = threading.Lock()
        self.calls = 0
        self.tokens = 0

    def reserve(self, *requests: AgentRequest) -> int:
        """Reserve one call for each request.

        Returns:
            The tokens that were reserved: hand them to `settle` with what was really used.

        Raises:
            BudgetSpentError: If a cap could be exceeded; then nothing is reserved.
        """
        tokens = sum(worst_case_tokens(request) for request in requests)
        with self._lock:
            if self._most_calls is not None and self.calls + len(requests) > self._most_calls:
                raise BudgetSpentError(f"the cap of {self._most_calls:,} calls is reached")
            if self._most_tokens is not None and self.tokens + tokens > self._most_tokens:
                raise BudgetSpentError(
                    f"the cap of {self._most_tokens:,} tokens is near: {self.tokens:,} are used or "
                    f"reserved, and the next request could use {tokens:,}"
                )
            self.calls += len(requests)
            self.tokens += tokens
        return tokens

    def settle(self, reserved: int, used: int) -> None:
        """Replace a reservation by what was used; 0 for a call that was refused unpaid."""
        with self._lock:
            self.tokens += used - reserved


def worst_case_tokens(request: AgentRequest) -> int:
    """More tokens than the request can cost: one for each two bytes, and the longest answer.

    Text of any language takes more than two bytes a token.
    """
    return request.size // 2 + request.max_tokens
