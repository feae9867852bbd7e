"""What a session reports."""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from router.usage import Usage

Value = TypeVar("Value")


class Status(StrEnum):
    """How an attempt, or a whole session, ended."""

    ADMITTED = "admitted"
    MALFORMED = "malformed"
    REFUSED_BY_POLICY = "refused_by_policy"
    REPAIR_EXHAUSTED = "repair_exhausted"
    PROVIDER_ERROR = "provider_error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    MODEL_CALL_BUDGET_EXHAUSTED = "model_call_budget_exhausted"
    ADMISSION_REFUSED = "admission_refused"


class Attempt(BaseModel):
    """One call and how its reply was received.

    Attributes:
        status: Its outcome.
        reason: One line; "" when it was admitted.
        elapsed_ms: Milliseconds the call took.
        usage: What it cost.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Status
    reason: str = ""
    elapsed_ms: float = 0.0
    usage: Usage = Usage()


class Report(BaseModel, Generic[Value]):
    """The answer of a session to one question.

    Attributes:
        status: Why it ended; `value` is set when, and only when, it is ``admitted``.
        reason: One line; "" when it was admitted.
        attempts: The calls in order.
        value: The admitted proposal, or None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Status
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()
    value: Value | None = None

    @property
    def usage(self) -> Usage:
        """What all attempts cost together."""
        return sum((attempt.usage for attempt in self.attempts), Usage())
