"""A second judge that knows every answer: the ceiling of what a cascade can gain."""

from __future__ import annotations

from collections.abc import Sequence

from eval.data import LabelledTurn
from roster import Roster, Skill
from router.suggestion import Gate, Ranking, Reread
from router.turn import Turn
from router.usage import Usage

_CALL = Usage(calls=1)


class ScriptedJudge:
    """Answers labelled turns rightly, and counts each answer as one call.

    Args:
        turns: The labelled turns it may be asked about.
    """

    def __init__(self, turns: Sequence[LabelledTurn]) -> None:
        self._gold = {(turn.text, turn.recent_context): turn.gold for turn in turns}

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        """The right skill first with probability 1; a need of 1 or 0; see `Judge.rank`."""
        gold = self._right(turn)
        rest = tuple((name, 0.0) for name in roster.names if name != gold)
        if gold is None:
            gate = Gate(acts_on_system=0.0, documented_procedure=0.0, prose_suffices=1.0)
            even = tuple((name, 1.0 / len(roster)) for name in roster.names)
            return Ranking(entries=even, usage=_CALL), gate
        gate = Gate(acts_on_system=1.0, documented_procedure=1.0, prose_suffices=0.0)
        return Ranking(entries=((gold, 1.0), *rest), usage=_CALL), gate

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """The right skill with choice and fit 1, the others 0; see `Judge.reread`."""
        gold = self._right(turn)
        fits = {skill.name: float(skill.name == gold) for skill in candidates}
        return Reread(choice=fits if gold in fits else {}, fits=fits, usage=_CALL)

    def _right(self, turn: Turn) -> str | None:
        return self._gold.get((turn.request, turn.recent_context))
