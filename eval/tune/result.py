"""What tuning found: records that print and serialize."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from eval.metrics import Rate, rate
from eval.paired import McNemar
from eval.tune.choose import Decisions
from eval.tune.objective import Objective
from router.thresholds import Thresholds


class Scores(BaseModel):
    """Outcomes of one choice of thresholds.

    Attributes:
        right: Of covered turns.
        wrong: Of covered turns.
        silent: Of covered turns.
        needless: Of uncovered turns.
        loss: Mean loss of the objective.
    """

    model_config = ConfigDict(frozen=True)

    right: Rate
    wrong: Rate
    silent: Rate
    needless: Rate
    loss: float

    @classmethod
    def of(cls, decisions: Decisions, objective: Objective) -> Scores:
        """Count decisions."""
        right, spoke, covered = decisions.right, decisions.spoke, decisions.covered
        total = int(covered.sum())
        hits, said = int(right.sum()), int((spoke & covered).sum())
        return cls(
            right=rate(hits, total),
            wrong=rate(said - hits, total),
            silent=rate(total - said, total),
            needless=rate(int((spoke & ~covered).sum()), len(covered) - total),
            loss=float(objective.loss(right, spoke, covered).mean()),
        )


class Outcome(StrEnum):
    """Whether the gain over the current thresholds survives, in one word."""

    SURVIVES = "survives"
    UNPROVEN = "unproven"
    LOST = "lost"
    SAME = "same"
    BOUND_BROKEN = "bound_broken"


class Verdict(BaseModel):
    """The outcome and the sentence that says it.

    Attributes:
        outcome: In one word.
        sentence: For people.
    """

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    sentence: str


class FrontPoint(BaseModel):
    """A point that no other beats on both rates.

    Attributes:
        needless: Share of uncovered turns with a suggestion.
        right: Share of covered turns with the right suggestion.
        thresholds: Where it lies.
    """

    model_config = ConfigDict(frozen=True)

    needless: float
    right: float
    thresholds: Thresholds


class TuneResult(BaseModel):
    """Everything `skill-router tune` reports.

    Attributes:
        objective: What was made small, in words.
        current: Thresholds in use.
        chosen: Thresholds of least loss on all requests, bound to the digests.
        scores_current: Outcomes of `current`.
        scores_chosen: Outcomes of `chosen` on the requests it was chosen on: too good.
        scores_held_out: Outcomes of the choice on requests it was not made on.
        fold_thresholds: What was chosen without each fold.
        paired_all: Held-out choice (first) against current (second): turns decided correctly.
        paired_covered: The same on covered turns.
        paired_uncovered: The same on uncovered turns.
        loss_p: Sign-flip p of the loss difference, skills flipped as wholes.
        verdict: Whether the gain survives.
        front: The Pareto front, by rising needless rate.
        excerpt_matters: Whether the excerpt was varied, and the judge's answers with it.
        gate_fit_pairs: Pairs of gate and fit that were swept.
        points: All points, shortlists and excerpts included.
        requests: Labelled turns.
        sweep_ms: Milliseconds for all points.
        replayed_otherwise: Turns the router itself decides otherwise at `chosen`; 0 is expected,
            None when it was not asked again.
    """

    model_config = ConfigDict(frozen=True)

    objective: str
    current: Thresholds
    chosen: Thresholds
    scores_current: Scores
    scores_chosen: Scores
    scores_held_out: Scores
    fold_thresholds: tuple[Thresholds, ...]
    paired_all: McNemar
    paired_covered: McNemar
    paired_uncovered: McNemar
    loss_p: float
    verdict: Verdict
    front: tuple[FrontPoint, ...]
    excerpt_matters: bool
    gate_fit_pairs: int
    points: int
    requests: int
    sweep_ms: float
    replayed_otherwise: int | None = None


def decimals(threshold: float) -> str:
    """A threshold with two decimals, and more only where it has more."""
    return f"{threshold:.2f}" if round(threshold, 2) == threshold else f"{threshold:.4g}"


def judge_gain(
    current: Scores,
    held_out: Scores,
    paired: McNemar,
    p: float,
    objective: Objective,
    level: float = 0.05,
) -> Verdict:
    """Whether a gain may be trusted.

    Args:
        current: Outcomes of the thresholds in use.
        held_out: Outcomes of the choice on requests it was not made on.
        paired: Held-out choice against current, turn by turn.
        p: p of the loss difference.
        objective: What is made small, and its bound.
        level: Largest p that counts as proof.
    """
    gain = current.loss - held_out.loss
    figures = (
        f"held out, the loss goes from {current.loss:.4f} to {held_out.loss:.4f} (p = {p:.3g}; "
        f"{paired.only_first} requests fixed, {paired.only_second} broken)"
    )
    if not objective.keeps(held_out.needless.low):
        return Verdict(
            outcome=Outcome.BOUND_BROKEN,
            sentence=f"The bound does not hold: on requests the choice was not made on, "
            f"{held_out.needless} are needless. Lower the bound or label more requests.",
        )
    if not objective.keeps(held_out.needless.value):
        return Verdict(
            outcome=Outcome.UNPROVEN,
            sentence=f"Whether the bound holds is within chance: on requests the choice was not "
            f"made on, {held_out.needless} are needless; {figures}. Lower the bound a little or "
            "label more requests.",
        )
    if not objective.keeps(current.needless.value):
        return Verdict(
            outcome=Outcome.SURVIVES,
            sentence=f"The choice keeps the bound on requests it was not made on "
            f"({held_out.needless} needless), the current thresholds do not "
            f"({current.needless}): {figures}.",
        )
    if abs(gain) < 1e-12 and paired.only_first == paired.only_second == 0:
        return Verdict(
            outcome=Outcome.SAME,
            sentence="The choice decides every request as the current thresholds do. Keep them.",
        )
    if gain <= 0:
        return Verdict(
            outcome=Outcome.LOST,
            sentence=f"The gain does not survive: {figures}. Keep the current thresholds.",
        )
    if p >= level:
        return Verdict(
            outcome=Outcome.UNPROVEN,
            sentence=f"The gain is within chance: {figures}. Keep the current thresholds, or "
            "label more requests.",
        )
    return Verdict(outcome=Outcome.SURVIVES, sentence=f"The gain survives: {figures}.")
