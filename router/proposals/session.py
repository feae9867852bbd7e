"""Asks a provider for a proposal: admission, bounded repair, budgets, a deadline."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from router.proposals.errors import ForbiddenProposal, MalformedReply, ProviderTimeout
from router.proposals.parse import parse_strict
from router.proposals.records import Attempt, Report, Status
from router.proposals.within import LateError, await_within, call_within, time_left
from router.usage import Usage

Value = TypeVar("Value")
_log = logging.getLogger(__name__)


class Limits(BaseModel):
    """The budgets of a session.

    Attributes:
        repairs: Further attempts after a malformed reply, for one question.
        max_calls: Calls of the whole session, repairs included.
        max_reply_bytes: Longest reply that is parsed.
        max_total_bytes: Bytes of questions and replies after which no call is started.
        max_total_tokens: Tokens, by the provider's count, after which no call is started.
        deadline_s: Seconds from the session's start; a reply that comes later does not count.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    repairs: int = Field(default=2, ge=0, le=10)
    max_calls: int = Field(default=12, ge=1)
    max_reply_bytes: int = Field(default=256 * 1024, ge=2)
    max_total_bytes: int = Field(default=64 << 20, ge=1)
    max_total_tokens: int = Field(default=2_000_000, ge=1)
    deadline_s: float | None = Field(default=None, gt=0)


@dataclass(frozen=True)
class Call:
    """What a provider is told about the call it makes.

    Attributes:
        attempt: 1 for the first call of a question.
        error: Why the reply before this one could not be used; None on the first attempt.
        timeout_s: Seconds left until the deadline, or None.
        max_reply_bytes: A reply longer than this will not be parsed: reading on is wasted.
    """

    attempt: int
    error: str | None
    timeout_s: float | None
    max_reply_bytes: int


@dataclass(frozen=True)
class Reply:
    """What a provider returns.

    Attributes:
        text: The reply, one JSON object.
        request_bytes: Bytes of the question.
    """

    text: str | bytes
    request_bytes: int = 0


Provider = Callable[[Call], Reply]
AsyncProvider = Callable[[Call], Awaitable[Reply]]
Reader = Callable[[Mapping[str, Any]], Value]
Meter = Callable[[Mapping[str, Any]], Usage]

_Outcome = Reply | Exception
_Steps = Generator[Call, _Outcome, Report[Value]]


class Session:
    """Budgets that hold over several questions of one turn. Not shared between threads.

    A limit of `call_within` or `await_within` around it counts like its own deadline: whoever
    waits no longer pays for no further calls.

    Args:
        limits: The budgets.
        admit: Asked before every call, repairs included: a text is the reason why no call may
            start; None lets it start. A call that runs already is not stopped by it. When it
            raises, no call starts.
        cancelled: Asked between attempts; True ends the session, and so does an exception.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        admit: Callable[[], str | None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.limits = limits or Limits()
        self.usage = Usage()
        self._admit = admit
        self._cancelled = cancelled
        self._clock = clock
        self._started = clock()

    def propose(
        self, provider: Provider, read: Reader[Value], meter: Meter | None = None
    ) -> Report[Value]:
        """Ask until a proposal is admitted or the session has a reason to stop.

        Args:
            provider: Makes one call. Whatever it raises becomes a status: `ProviderTimeout` and
                `TimeoutError` a ``timeout``, `MalformedReply` a malformed attempt, anything else a
                ``provider_error``.
            read: Turns the parsed object into a proposal; raises `MalformedReply` or
                `ForbiddenProposal`.
            meter: Finds the tokens in the parsed object.

        Returns:
            The report; a failure is a status, never an exception.
        """
        steps = self._steps(read, meter)
        try:
            call = next(steps)
            while True:
                outcome: _Outcome
                try:
                    # A thread of its own: an SDK that waits or retries past the deadline is left
                    # behind instead of holding up the turn.
                    outcome = call_within(lambda call=call: provider(call), call.timeout_s)  # type: ignore[misc]
                except Exception as error:
                    outcome = error
                call = steps.send(outcome)
        except StopIteration as end:
            return _report(end)

    async def apropose(
        self, provider: AsyncProvider, read: Reader[Value], meter: Meter | None = None
    ) -> Report[Value]:
        """`propose` with an asynchronous provider, which is cancelled at the deadline."""
        steps = self._steps(read, meter)
        try:
            call = next(steps)
            while True:
                outcome: _Outcome
                try:
                    outcome = await await_within(lambda call=call: provider(call), call.timeout_s)  # type: ignore[misc]
                except Exception as error:
                    outcome = error
                call = steps.send(outcome)
        except StopIteration as end:
            return _report(end)

    def _steps(self, read: Reader[Value], meter: Meter | None) -> _Steps[Value]:
        attempts: list[Attempt] = []
        error: str | None = None
        while True:
            stop = self._may_not_start()
            if stop is not None:
                return Report(status=stop[0], reason=stop[1], attempts=tuple(attempts))
            began = self._clock()
            outcome = yield Call(
                len(attempts) + 1, error, self._left(), self.limits.max_reply_bytes
            )
            elapsed = round((self._clock() - began) * 1000.0, 3)
            status, reason, value, usage = self._receive(outcome, read, meter)
            self.usage += usage
            attempts.append(Attempt(status=status, reason=reason, elapsed_ms=elapsed, usage=usage))
            if status is not Status.MALFORMED:
                return Report(status=status, reason=reason, attempts=tuple(attempts), value=value)
            if len(attempts) > self.limits.repairs:
                final = Status.REPAIR_EXHAUSTED if self.limits.repairs else Status.MALFORMED
                return Report(status=final, reason=reason, attempts=tuple(attempts))
            error = reason

    def _receive(
        self, outcome: _Outcome, read: Reader[Value], meter: Meter | None
    ) -> tuple[Status, str, Value | None, Usage]:
        usage = Usage(calls=1)
        if isinstance(outcome, MalformedReply):
            return Status.MALFORMED, str(outcome), None, usage
        if isinstance(outcome, LateError | ProviderTimeout | TimeoutError):
            return Status.TIMEOUT, "no reply in time", None, usage
        if isinstance(outcome, Exception):
            reason = describe(outcome)
            # Where, and not what it says: a server may repeat the key, or the request.
            where = "".join(traceback.format_tb(outcome.__traceback__))
            _log.debug("the provider failed: %s\n%s", reason, where)
            return Status.PROVIDER_ERROR, reason, None, usage
        if not isinstance(outcome, Reply):
            return Status.PROVIDER_ERROR, "the provider returned no reply", None, usage
        usage = Usage(
            calls=1, request_bytes=outcome.request_bytes, reply_bytes=_length(outcome.text)
        )
        left = self._left()
        if left is not None and left <= 0:
            return Status.TIMEOUT, "the reply came after the deadline", None, usage
        try:
            data = parse_strict(outcome.text, self.limits.max_reply_bytes)
            if meter is not None:
                usage += meter(data)
            value = read(data)
        except MalformedReply as error:
            return Status.MALFORMED, str(error), None, usage
        except ForbiddenProposal as error:
            return Status.REFUSED_BY_POLICY, str(error), None, usage
        return Status.ADMITTED, "", value, usage

    def _may_not_start(self) -> tuple[Status, str] | None:
        try:
            if self._cancelled is not None and self._cancelled():
                return Status.CANCELLED, "the session was cancelled"
        except Exception as error:  # a host that cannot say may have closed the run
            return Status.CANCELLED, f"asking whether to go on failed: {describe(error)}"
        left = self._left()
        if left is not None and left <= 0:
            return Status.TIMEOUT, "the deadline has passed"
        limits, used = self.limits, self.usage
        if used.calls >= limits.max_calls:
            return Status.MODEL_CALL_BUDGET_EXHAUSTED, f"{used.calls} calls are the budget"
        if used.request_bytes + used.reply_bytes >= limits.max_total_bytes:
            return Status.MODEL_CALL_BUDGET_EXHAUSTED, "the budget of bytes is spent"
        if used.tokens >= limits.max_total_tokens:
            return Status.MODEL_CALL_BUDGET_EXHAUSTED, "the budget of tokens is spent"
        try:
            refusal = self._admit() if self._admit is not None else None
        except Exception as error:  # no answer is no leave
            refusal = f"the admission check failed: {describe(error)}"
        if refusal is not None:
            return Status.ADMISSION_REFUSED, refusal
        return None

    def _left(self) -> float | None:
        outer = time_left()
        if self.limits.deadline_s is None:
            return outer
        own = self._started + self.limits.deadline_s - self._clock()
        return own if outer is None else min(own, outer)


def describe(error: Exception) -> str:
    """An error as one line without anything the other side wrote, which is not to be trusted."""
    status = getattr(error, "status_code", None) or getattr(error, "status", None)
    suffix = f" (HTTP {status})" if isinstance(status, int) else ""
    return f"{type(error).__name__}{suffix}"


def _length(text: str | bytes) -> int:
    return len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else len(text)


def _report(end: StopIteration) -> Report[Any]:
    report: Report[Any] = end.value
    return report
