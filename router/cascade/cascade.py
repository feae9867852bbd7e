"""Asks a second judge about uncertain turns, within a deadline and a budget per minute."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from router.cascade.band import Band, Reading
from router.errors import RouterError
from router.proposals.within import LateError, await_within, call_within
from router.suggestion import Escalation, Outcome, Reason, Suggestion
from router.turn import Turn

if TYPE_CHECKING:
    from router.pipeline import Router

Look = Callable[[Suggestion], Suggestion]

_MINUTE = 60.0
_UNREAD = Reading(0.0, 1.0)
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

    def settle(
        self,
        turn: Turn,
        local: Suggestion,
        seconds: float | None = None,
        look: Look | None = None,
    ) -> Suggestion:
        """The final answer of a turn.

        Args:
            turn: The turn.
            local: What the local judge said.
            seconds: What the turn's own deadline leaves, beside `deadline_s`; None for no such
                deadline.
            look: Gives the local suggestion with all evidence there is, such as the reread that a
                closed gate left out; None takes the suggestion as it is.

        Returns:
            The second judge's suggestion or the local one, with `Suggestion.escalation`. Never
            raises.
        """
        wait, reading = self._wait(seconds), _UNREAD
        try:
            reading = self.band.read(local if look is None else look(local))
            stands = self._not_asked(local, reading, wait)
            if stands is not None:
                return stands
            answer = call_within(lambda: self.second.suggest(turn), wait)
        except Exception as error:  # the local answer must survive whatever happens
            return _failed(local, error, reading, wait)
        return _answered(local, reading, answer)

    async def asettle(
        self,
        turn: Turn,
        local: Suggestion,
        seconds: float | None = None,
        look: Look | None = None,
    ) -> Suggestion:
        """`settle` without blocking the event loop."""
        wait, reading = self._wait(seconds), _UNREAD
        try:
            seen = local if look is None else await asyncio.to_thread(look, local)
            reading = self.band.read(seen)
            stands = self._not_asked(local, reading, wait)
            if stands is not None:
                return stands
            answer = await await_within(lambda: self.second.asuggest(turn), wait)
        except Exception as error:  # as above
            return _failed(local, error, reading, wait)
        return _answered(local, reading, answer)

    def _wait(self, seconds: float | None) -> float:
        return self.deadline_s if seconds is None else min(self.deadline_s, seconds)

    def _not_asked(self, local: Suggestion, reading: Reading, wait: float) -> Suggestion | None:
        """The local answer when the second judge is not asked, else None."""
        if not reading.uncertain:
            return _stands(local, Outcome.CERTAIN, reading)
        if wait <= 0:
            return _stands(local, Outcome.OVER_BUDGET, reading, "the turn has no time left")
        if not self._admit():
            return _stands(local, Outcome.OVER_BUDGET, reading)
        return None

    def _admit(self) -> bool:
        with self._lock:
            now = self._clock()
            while self._asked and now - self._asked[0] >= _MINUTE:
                self._asked.popleft()
            if len(self._asked) >= self.per_minute:
                return False
            self._asked.append(now)
            return True


def _answered(local: Suggestion, reading: Reading, answer: Suggestion) -> Suggestion:
    if answer.reason is Reason.ROUTER_ERROR:
        _log.warning("the second judge failed; the local answer stands: %s", answer.detail)
        stands = _stands(local, Outcome.FAILED, reading, answer.detail)
        return stands.model_copy(update={"usage": {**local.usage, **answer.usage}})
    escalation = _escalation(local, Outcome.ANSWERED, reading)
    return answer.model_copy(update={"escalation": escalation})


def _failed(local: Suggestion, error: Exception, reading: Reading, wait: float) -> Suggestion:
    if isinstance(error, LateError):
        detail = f"timeout: no answer within {wait:.3g} s"
        _log.warning("the second judge was too slow; the local answer stands")
    else:
        detail = type(error).__name__
        _log.error("the second judge failed; the local answer stands", exc_info=error)
    return _stands(local, Outcome.FAILED, reading, detail)


def _stands(
    local: Suggestion, outcome: Outcome, reading: Reading, detail: str | None = None
) -> Suggestion:
    escalation = _escalation(local, outcome, reading, detail)
    return local.model_copy(update={"escalation": escalation})


def _escalation(
    local: Suggestion, outcome: Outcome, reading: Reading, detail: str | None = None
) -> Escalation:
    return Escalation(
        outcome=outcome,
        doubt=reading.doubt,
        threshold=reading.threshold,
        local_name=local.name,
        local_reason=local.reason,
        detail=detail,
    )
