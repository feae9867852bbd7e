"""Asks a second judge about uncertain turns, within a deadline and a budget per minute."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from router.cascade.band import Band, local_score
from router.errors import RouterError
from router.proposals.within import LateError, call_within
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

    def settle(self, turn: Turn, local: Suggestion) -> Suggestion:
        """The final answer of a turn.

        Args:
            turn: The turn.
            local: What the local judge said.

        Returns:
            The second judge's suggestion or the local one, with `Suggestion.escalation`.
        """
        if not self._asks(local):
            return self._stands(local, Outcome.CERTAIN)
        if not self._admit():
            return self._stands(local, Outcome.OVER_BUDGET)
        try:
            answer = call_within(lambda: self.second.suggest(turn), self.deadline_s)
        except LateError:
            return self._late(local)
        return self._answered(local, answer)

    async def asettle(self, turn: Turn, local: Suggestion) -> Suggestion:
        """`settle` without blocking the event loop."""
        if not self._asks(local):
            return self._stands(local, Outcome.CERTAIN)
        if not self._admit():
            return self._stands(local, Outcome.OVER_BUDGET)
        try:
            answer = await asyncio.wait_for(self.second.asuggest(turn), self.deadline_s)
        except TimeoutError:
            return self._late(local)
        return self._answered(local, answer)

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

    def _late(self, local: Suggestion) -> Suggestion:
        detail = f"timeout: no answer within {self.deadline_s} s"
        _log.warning("the second judge was too slow; the local answer stands")
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
