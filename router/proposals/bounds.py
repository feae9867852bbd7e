"""Which names a proposal may contain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from pydantic import BaseModel, ConfigDict

from roster import Skill
from router.proposals.errors import ForbiddenProposal
from router.proposals.parse import shown
from router.turn import Turn


class Bounds(BaseModel):
    """The skills a model was asked about, and those of them the turn forbids.

    Attributes:
        asked: Names that may be proposed.
        forbidden: Name to the reason why this turn does not permit it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: frozenset[str]
    forbidden: dict[str, str] = {}

    @classmethod
    def of_turn(cls, turn: Turn, skills: Iterable[Skill]) -> Self:
        """The bounds of a turn: a skill whose tools the turn does not allow is forbidden.

        Args:
            turn: The turn.
            skills: The skills in question.
        """
        asked, forbidden = set(), {}
        for skill in skills:
            missing = (
                []
                if turn.allowed_tools is None
                else sorted(set(skill.requires) - turn.allowed_tools)
            )
            if missing:
                forbidden[skill.name] = f"requires {', '.join(sorted(missing))[:200]}"
            else:
                asked.add(skill.name)
        return cls(asked=frozenset(asked), forbidden=forbidden)

    def require(self, name: str) -> None:
        """Refuse a name outside the bounds.

        Raises:
            ForbiddenProposal: If the name is forbidden this turn, or was never asked about.
        """
        if name in self.asked:
            return
        reason = self.forbidden.get(name)
        if reason is not None:
            raise ForbiddenProposal(f"the skill {shown(name)} is not permitted this turn: {reason}")
        raise ForbiddenProposal(f"{shown(name)} is not among the skills that were asked about")
