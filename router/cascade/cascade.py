"""Asks a second judge about uncertain turns, within a deadline and a budget per minute."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from router.cascade.band import Band, local_score
from router.errors import RouterError
from router.proposals.within import LateError, await_within, call_within
from router.suggestion import Escalation, Outcome, Reason, Suggestion
from router.turn import Turn

if TYPE_CHECKING:
    from router.pipeline import Router

_MINUTE = 60.0
_log = logging.getLogger(__name__)


class Cascade:
    """Settles turns on which the local judge is unsure; safe to share between threads.

    On any failure of the second judge (an error, a refused proposal, no answer in time, no budget)
    the local answer stands.

    Args:
        second: A router over the same roster with the second judge and its own thresholds.
        band: Where the local judge is unsure.
        deadline_s: Seconds the second judge may take.
        per_minute: Most turns that ask it in any sixty seconds.
        clock: Seconds that only grow.

    Raises:
        RouterError: If the deadline or the budget is out of range.
    """

    def __init__(
        self,
        second: Router,
        band: Band,
        *,
        deadline_s: float = 3.0,
        per_minute: int = 60,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if not 0 < deadline_s < float("inf") or per_minute < 0:
            raise RouterError("a cascade needs deadline_s above 0 and per_minute of 0 or more")
        self.second = second
        self.band = band
        self.deadline_s = deadline_s
        self.per_minute = per_minute
        self._clock = clock
        self._asked: deque[float] = deque()
        self._lock = threading.Lock()

    def settle(self, turn: Turn, local: Suggestion, seconds: float | None = None) -> Suggestion:
        """The final answer of a turn.

        Args:
            turn: The turn.
            local: What the local judge said.
            seconds: What the turn's own deadline leaves, beside `deadline_s`; None for no such
                deadline.

        Returns:
            The second judge's suggestion or the local one, with `Suggestion.escalation`. Never
            raises.
        """
        wait = self._wait(seconds)
        stands = self._not_asked(local, wait)
        if stands is not None:
            return stands
        try:
            answer = call_within(lambda: self.second.suggest(turn), wait)
        except Exception as error:  # the local answer must survive whatever happens
            return self._failed(local, error, wait)
        return self._answered(local, answer)

    async def asettle(
        self, turn: Turn, local: Suggestion, seconds: float | None = None
    ) -> Suggestion:
        """`settle` without blocking the event loop."""
        wait = self._wait(seconds)
        stands = self._not_asked(local, wait)
        if stands is not None:
            return stands
        try:
            answer = await await_within(lambda: self.second.asuggest(turn), wait)
        except Exception as error:  # as above
            return self._failed(local, error, wait)
        return self._answered(local, answer)

    def _wait(self, seconds: float | None) -> float:
        return self.deadline_s if seconds is None else min(self.deadline_s, seconds)

    def _not_asked(self, local: Suggestion, wait: float) -> Suggestion | None:
        """The local answer when the second judge is not asked, else None."""
        if not self._asks(local):
            return self._stands(local, Outcome.CERTAIN)
        if wait <= 0:
            return self._stands(local, Outcome.OVER_BUDGET, "the turn has no time left")
        if not self._admit():
            return self._stands(local, Outcome.OVER_BUDGET)
        return None

    def _asks(self, local: Suggestion) -> bool:
        # A failed local judge says nothing about certainty, and a blank request or empty roster
        # has nothing to ask about: only a gate or a shortlist that was read can be unsure.
        return local.gate is not None and self.band.holds(local_score(local))

    def _admit(self) -> bool:
        with self._lock:
            now = self._clock()
            while self._asked and now - self._asked[0] >= _MINUTE:
                self._asked.popleft()
            if len(self._asked) >= self.per_minute:
                return False
            self._asked.append(now)
            return True

    def _answered(self, local: Suggestion, answer: Suggestion) -> Suggestion:
        if answer.reason is Reason.ROUTER_ERROR:
            _log.warning("the second judge failed; the local answer stands: %s", answer.detail)
            stands = self._stands(local, Outcome.FAILED, answer.detail)
            return stands.model_copy(update={"usage": {**local.usage, **answer.usage}})
        escalation = self._escalation(local, Outcome.ANSWERED)
        return answer.model_copy(update={"escalation": escalation})

    def _failed(self, local: Suggestion, error: Exception, wait: float) -> Suggestion:
        if isinstance(error, LateError):
            detail = f"timeout: no answer within {wait:.3g} s"
            _log.warning("the second judge was too slow; the local answer stands")
        else:
            detail = type(error).__name__
            _log.error("the second judge failed; the local answer stands", exc_info=error)
        return self._stands(local, Outcome.FAILED, detail)

    def _stands(self, local: Suggestion, outcome: Outcome, detail: str | None = None) -> Suggestion:
        return local.model_copy(update={"escalation": self._escalation(local, outcome, detail)})

    def _escalation(
        self, local: Suggestion, outcome: Outcome, detail: str | None = None
    ) -> Escalation:
        return Escalation(
            outcome=outcome,
            score=local_score(local),
            low=self.band.low,
            high=self.band.high,
            local_name=local.name,
            local_reason=local.reason,
            detail=detail,
        )
