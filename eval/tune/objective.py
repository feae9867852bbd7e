"""What good thresholds are."""

from __future__ import annotations

from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from eval.tune.sweep import Counts

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class AgentEffects(BaseModel):
    """What an agent does after each outcome of the router, as shares of such turns.

    The defaults were recorded on 488 requests with `claude-haiku-4-5-20251001`.

    Attributes:
        right: Right loads after the right suggestion.
        silent: Right loads after silence on a covered turn.
        wrong: Right loads after a wrong suggestion.
        quiet: Loads after silence on an uncovered turn.
        needless: Loads after a suggestion on an uncovered turn.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    right: Share = 0.98
    silent: Share = 0.70
    wrong: Share = 0.33
    quiet: Share = 0.014
    needless: Share = 0.20


class Objective(Protocol):
    """A loss to be made small. Losses of the turns are averaged; lower is better."""

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Loss at every point of a sweep; infinite where a bound is broken."""
        ...

    def loss(
        self, right: NDArray[np.bool_], spoke: NDArray[np.bool_], covered: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Loss of each turn, shape (m,)."""
        ...

    def keeps(self, needless: float) -> bool:
        """Whether a share of needless suggestions is within the objective's bound."""
        ...


class WeightedCost(BaseModel):
    """Agent errors that outcomes cause, beyond those that come with a perfect router.

    Attributes:
        wrong: Cost of a wrong suggestion, 0 or more.
        silent: Cost of silence on a covered turn, 0 or more.
        needless: Cost of a suggestion on an uncovered turn, 0 or more.
        covered_share: Share of covered turns in the traffic; None takes that of the requests.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    wrong: float = Field(ge=0.0, allow_inf_nan=False)
    silent: float = Field(ge=0.0, allow_inf_nan=False)
    needless: float = Field(ge=0.0, allow_inf_nan=False)
    covered_share: Share | None = None

    @classmethod
    def from_effects(
        cls, effects: AgentEffects | None = None, covered_share: float | None = None
    ) -> WeightedCost:
        """The costs that an agent's recorded behaviour implies."""
        effects = effects or AgentEffects()
        return cls(
            wrong=max(0.0, round(effects.right - effects.wrong, 6)),
            silent=max(0.0, round(effects.right - effects.silent, 6)),
            needless=max(0.0, round(effects.needless - effects.quiet, 6)),
            covered_share=covered_share,
        )

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Mean cost per turn at every point."""
        share = self.covered_share
        if share is None:
            share = counts.covered / max(counts.covered + counts.uncovered, 1)
        on_covered = self.wrong * counts.wrong + self.silent * counts.silent
        on_uncovered = self.needless * counts.needless
        mean: NDArray[np.float64] = share * on_covered / max(counts.covered, 1)
        return mean + (1.0 - share) * on_uncovered / max(counts.uncovered, 1)

    def loss(
        self, right: NDArray[np.bool_], spoke: NDArray[np.bool_], covered: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Cost of each turn, weighted so that the mean is the traffic's cost per turn."""
        share = float(covered.mean()) if self.covered_share is None else self.covered_share
        cost = np.where(spoke, np.where(right, 0.0, self.wrong), self.silent)
        cost = np.where(covered, cost, np.where(spoke, self.needless, 0.0))
        scale = np.where(
            covered,
            share / max(float(covered.mean()), 1e-12),
            (1.0 - share) / max(float((~covered).mean()), 1e-12),
        )
        return np.asarray(cost * scale, dtype=np.float64)

    def keeps(self, needless: float) -> bool:
        """Always: there is no bound."""
        return True

    def __str__(self) -> str:
        """The three costs."""
        return f"cost: wrong {self.wrong:g}, silent {self.silent:g}, needless {self.needless:g}"


class NeedlessAtMost(BaseModel):
    """Most right suggestions while needless ones keep under a bound.

    Attributes:
        bound: Largest share of uncovered turns with a suggestion, 0..1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bound: Share

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Share of covered turns without the right suggestion; infinite past the bound."""
        missed = 1.0 - counts.right / max(counts.covered, 1)
        kept = counts.needless <= self.bound * counts.uncovered + 1e-9
        return np.where(kept, missed, np.inf)

    def loss(
        self, right: NDArray[np.bool_], spoke: NDArray[np.bool_], covered: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """1 for each covered turn without the right suggestion, so that the mean is their share."""
        scale = 1.0 / max(float(covered.mean()), 1e-12)
        return np.where(covered & ~right, scale, 0.0)

    def keeps(self, needless: float) -> bool:
        """Whether a share of needless suggestions is within the bound."""
        return needless <= self.bound + 1e-9

    def __str__(self) -> str:
        """The bound."""
        return f"most right suggestions with needless ones at most {self.bound:.1%}"
