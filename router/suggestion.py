"""What the router answers, with everything that led to it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from router.usage import Usage

Unit = Annotated[float, Field(ge=0.0, le=1.0)]
"""A probability."""

MOST_QUARANTINED = 20
"""Quarantined skills that a suggestion names; a hostile roster could hold thousands."""


class Gate(BaseModel):
    """Three answers about the request alone, each a probability.

    Attributes:
        acts_on_system: The assistant is asked to act on the user's files, accounts, devices or
            services, rather than to explain.
        documented_procedure: A careful expert would consult a documented procedure.
        prose_suffices: A knowledgeable generalist could answer in prose alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    acts_on_system: Unit
    documented_procedure: Unit
    prose_suffices: Unit

    @property
    def need(self) -> float:
        """Whether the turn needs a skill, 0..1: the mean of the three, the last one inverted."""
        return (self.acts_on_system + self.documented_procedure + 1.0 - self.prose_suffices) / 3.0


class Ranking(BaseModel):
    """Every skill of the roster with its probability, the likeliest first.

    Attributes:
        entries: Pairs of name and probability; the probabilities sum to 1 unless empty.
        usage: What the judge's calls cost, or None for a judge that calls nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    entries: tuple[tuple[str, Unit], ...] = ()
    usage: Usage | None = Field(default=None, exclude=True, repr=False)

    def top(self, count: int) -> tuple[str, ...]:
        """The first `count` names."""
        return tuple(name for name, _ in self.entries[:count])


class Reread(BaseModel):
    """What the second look at the shortlist says.

    Attributes:
        choice: Name to probability that it is the best of the shortlist; sums to 1 unless empty.
        fits: Name to probability that the skill does what the request asks for. Each stands for
            itself: all of them can be low.
        usage: What the judge's calls cost, or None for a judge that calls nothing.
        evidence: What the local judge saw of the skill that fits best, columns as in
            `router.cascade.doubt.SEEN`; for a cascade. Empty from any other judge.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    choice: dict[str, Unit] = {}
    fits: dict[str, Unit] = {}
    usage: Usage | None = Field(default=None, exclude=True, repr=False)
    evidence: tuple[float, ...] = Field(default=(), exclude=True, repr=False)


class Reason(StrEnum):
    """Why a suggestion is what it is, in one word."""

    SUGGESTED = "suggested"
    GATE = "gate"
    FITS = "fits"
    INELIGIBLE = "ineligible"
    ALREADY_LOADED = "already_loaded"
    ROUTER_ERROR = "router_error"


class Outcome(StrEnum):
    """What became of the question whether to ask a second judge."""

    CERTAIN = "certain"
    ANSWERED = "answered"
    FAILED = "failed"
    OVER_BUDGET = "over_budget"


class Escalation(BaseModel):
    """How a cascade came to its answer.

    Attributes:
        outcome: ``certain``: the local answer was not in the uncertain band; ``answered``: the
            second judge was asked and its answer stands; ``failed`` and ``over_budget``: it gave
            none in time, or was not asked, and the local answer stands.
        doubt: Probability that the local answer is a mistake, 0..1.
        threshold: The doubt above which such an answer is uncertain.
        local_name: What the local judge suggested.
        local_reason: Its reason.
        detail: One line for the log when the second judge failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    doubt: Unit
    threshold: Unit
    local_name: str | None = None
    local_reason: Reason
    detail: str | None = None


class Suggestion(BaseModel):
    """At most one skill name for a turn, the reason, and what led to it.

    Attributes:
        name: The suggested skill, or None.
        reason: Why, in one word.
        ranking: The wide rank over the whole roster; empty when it was not reached.
        gate: The three answers about the request, or None when it was not reached.
        reread: The second look at the shortlist, or None when it was not reached.
        thresholds_gate: The least need that was asked for.
        thresholds_fit: The least fit that was asked for.
        roster_digest: Digest of the roster.
        thresholds_digest: Digest of the thresholds.
        weights_digest: Digest of the judge's learned numbers, or its name.
        elapsed_ms: Milliseconds per stage: ``rank``, ``reread``, ``total``.
        detail: One line for the log when the reason needs it (an error, the missing tools).
        usage: What a judge that calls a model spent, by stage; empty for the local judge.
        escalation: How a cascade came to the answer; None without one.
        quarantined: Why skills of the roster were not eligible whatever the turn, by name; the
            first `MOST_QUARANTINED` of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = None
    reason: Reason
    ranking: Ranking = Ranking()
    gate: Gate | None = None
    reread: Reread | None = None
    thresholds_gate: Unit
    thresholds_fit: Unit
    roster_digest: str
    thresholds_digest: str
    weights_digest: str
    elapsed_ms: dict[str, float] = {}
    detail: str | None = None
    usage: dict[str, Usage] = {}
    escalation: Escalation | None = None
    quarantined: dict[str, str] = {}

    def __str__(self) -> str:
        """A readable explanation, as `skill-router suggest --explain` prints it."""
        return "\n".join(_explain(self))


_MEANING = {
    Reason.SUGGESTED: "fits the request",
    Reason.GATE: "the request needs no skill",
    Reason.FITS: "no skill of the roster does what is asked",
    Reason.INELIGIBLE: "the best skill needs a tool that is not allowed this turn",
    Reason.ALREADY_LOADED: "the best skill is loaded already",
    Reason.ROUTER_ERROR: "the router failed; the turn goes on without it",
}


def _explain(suggestion: Suggestion) -> list[str]:
    verdict = suggestion.name or "no skill"
    lines = [f"{verdict}: {suggestion.reason.value} ({_MEANING[suggestion.reason]})"]
    if suggestion.detail:
        lines.append(f"  {suggestion.detail}")
    if suggestion.gate is not None:
        gate = suggestion.gate
        sign = ">=" if gate.need >= suggestion.thresholds_gate else "<"
        lines.append(
            f"  needs a skill {gate.need:.2f} {sign} {suggestion.thresholds_gate:.2f}"
            f"   acts on the system {gate.acts_on_system:.2f}, documented procedure "
            f"{gate.documented_procedure:.2f}, prose suffices {gate.prose_suffices:.2f}"
        )
    probabilities = dict(suggestion.ranking.entries)
    if suggestion.reread is not None and suggestion.reread.fits:
        lines.append(f"  reread of the shortlist, least fit {suggestion.thresholds_fit:.2f}:")
        by_choice = sorted(suggestion.reread.fits, key=lambda n: -suggestion_choice(suggestion, n))
        for name in by_choice:
            lines.append(
                f"    fit {suggestion.reread.fits[name]:.2f}   choice "
                f"{suggestion_choice(suggestion, name):.2f}   wide "
                f"{probabilities.get(name, 0.0):.3f}   {name}"
            )
    elif suggestion.ranking.entries:
        lines.append("  wide rank:")
        for name, probability in suggestion.ranking.entries[:3]:
            lines.append(f"    {probability:.3f}   {name}")
    if suggestion.escalation is not None:
        lines.append(f"  {_explain_escalation(suggestion.escalation)}")
    for stage, usage in suggestion.usage.items():
        lines.append(
            f"  {stage} cost {usage.calls} calls, {usage.input_tokens:,} tokens in "
            f"({usage.cache_read_tokens:,} more from cache, {usage.cache_write_tokens:,} written), "
            f"{usage.output_tokens:,} out"
        )
    for name, why in suggestion.quarantined.items():
        lines.append(f"  quarantined {name}: {why[:200]}")
    if suggestion.elapsed_ms:
        stages = ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in suggestion.elapsed_ms.items())
        lines.append(f"  {stages}")
    return lines


def _explain_escalation(escalation: Escalation) -> str:
    local = escalation.local_name or "no skill"
    sign = "<=" if escalation.outcome is Outcome.CERTAIN else ">"
    text = f"local doubt {escalation.doubt:.2f} {sign} {escalation.threshold:.2f}"
    if escalation.outcome is Outcome.CERTAIN:
        return f"{text}: the local answer is certain enough"
    text = f"{text}: "
    if escalation.outcome is Outcome.ANSWERED:
        return f"{text}asked the second judge (the local answer was {local})"
    why = escalation.detail or escalation.outcome.value
    return f"{text}the local answer stands ({why})"


def suggestion_choice(suggestion: Suggestion, name: str) -> float:
    """Probability that the reread chose `name`, 0 when it was not on the shortlist."""
    return suggestion.reread.choice.get(name, 0.0) if suggestion.reread else 0.0
