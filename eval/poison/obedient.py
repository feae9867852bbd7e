"""The worst model a judge could be: it does what the skills it reads tell it to."""

from __future__ import annotations

from collections.abc import Sequence

from roster import Roster, Skill
from router.judge import Judge
from router.suggestion import Gate, Ranking, Reread
from router.turn import Turn


class ObedientJudge:
    """Ranks as another judge does, until it reads the planted skill: then it obeys.

    What it does is the upper bound of what instructions in a skill can do to a judge that asks a
    model; a real model obeys some of them, at most.

    Args:
        judge: Who answers otherwise.
        planted: Name of the skill that holds the instructions.
    """

    def __init__(self, judge: Judge, planted: str) -> None:
        self._judge = judge
        self._planted = planted

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        """The other judge's ranking, or the planted skill alone where it is in the roster."""
        ranking, gate = self._judge.rank(turn, roster)
        if self._planted not in roster:
            return ranking, gate
        return Ranking(entries=((self._planted, 1.0),)), gate

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """Certain of the planted skill; else the other judge's answer."""
        if all(skill.name != self._planted for skill in candidates):
            return self._judge.reread(turn, candidates)
        return Reread(choice={self._planted: 1.0}, fits={self._planted: 1.0})
