"""What every judge answers, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from roster import Roster, Skill
from router.suggestion import Gate, Ranking, Reread
from router.turn import Turn


@runtime_checkable
class Judge(Protocol):
    """Answers the two questions of a turn; the router does not know which judge it holds."""

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        """Rank every skill of the roster for the turn, and say whether it needs a skill at all."""
        ...

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """Read the candidates in full; choose among them and say how well each one fits."""
        ...


@runtime_checkable
class AsyncJudge(Protocol):
    """A judge that can also wait without blocking the event loop."""

    async def arank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        """`Judge.rank`, asynchronously."""
        ...

    async def areread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """`Judge.reread`, asynchronously."""
        ...
