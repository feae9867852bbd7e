"""What speaks against a skill, and how much."""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict, Field

from roster.text import visible


class Sign(BaseModel):
    """One thing that honest skills rarely do.

    Attributes:
        code: A short stable identifier such as ``hidden-text``.
        points: How much it weighs by itself, 0..1.
        reason: What was found, as a sentence without a full stop.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    points: float = Field(ge=0.0, le=1.0)
    reason: str

    def __str__(self) -> str:
        """The reason, with its weight."""
        return f"{visible(self.reason)} ({self.points:.2f})"


class Suspicion(BaseModel):
    """Everything that speaks against one skill.

    Attributes:
        name: The skill.
        signs: What was found, the heaviest first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    signs: tuple[Sign, ...] = ()

    @property
    def score(self) -> float:
        """0..1: one minus the product of one minus each sign's points, as for independent signs."""
        return 1.0 - math.prod(1.0 - sign.points for sign in self.signs)

    @property
    def reason(self) -> str:
        """All reasons in one line."""
        return "; ".join(visible(sign.reason) for sign in self.signs)
