"""What a doctor finds."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From worst to mildest."""

RULES: dict[str, tuple[Severity, str]] = {
    "line-indistinct": ("warning", "Its index line says nothing that a neighbour's does not say."),
    "no-when": ("warning", "The description never says when to use the skill."),
    "no-when-not": ("note", "The description of a skill with a close neighbour sets no limit."),
    "near-duplicate": ("warning", "Two skills have nearly the same text."),
    "unreachable": ("warning", "No phrase of its own body finds the skill first."),
    "swallows": ("warning", "It is found first for phrases of many other skills."),
    "name-not-folder": ("warning", "The name differs from the folder."),
    "body-over-budget": ("note", "The body is longer than the budget."),
    "misses": ("warning", "The router misses most requests that are labelled with the skill."),
    "false-loads": ("warning", "The router suggests the skill for requests of others."),
    "confused": ("warning", "Requests of one skill go to another."),
}
"""Severity and meaning of every kind of finding."""


class Settings(BaseModel):
    """What to examine against.

    Attributes:
        width: Characters of a description in the index.
        body_tokens: Most tokens of a body.
        phrases: Phrases of each body that are tried, and again so many at a time while none of
            them finds the skill.
        more_phrases: How many of these further ones at most.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    width: int = Field(default=60, ge=4)
    body_tokens: int = Field(default=5_000, ge=1)
    phrases: int = Field(default=3, ge=3, le=50)
    more_phrases: int = Field(default=12, ge=0, le=200)


class Finding(BaseModel):
    """One thing to mend.

    Attributes:
        code: A key of `RULES`.
        severity: How bad it is.
        skill: The skill to mend.
        other: The second skill, where there is one.
        words: The words that cause it.
        message: What is wrong.
        remedy: What to add or change, as an instruction.
        path: The skill's file, if it has one.
        weight: How much there is of it; the larger of two findings of one kind is the worse.
        details: Numbers and phrases it rests on.
    """

    model_config = ConfigDict(frozen=True)

    code: str
    severity: Severity
    skill: str
    other: str | None = None
    words: tuple[str, ...] = ()
    message: str
    remedy: str
    path: str | None = None
    weight: float = 0.0
    details: dict[str, Any] = {}


class Pair(BaseModel):
    """Two skills that are easily confused.

    Attributes:
        first: The one.
        second: The other.
        likeness: Cosine of name and description, -1..1.
    """

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    likeness: float


class Report(BaseModel):
    """Everything that was found.

    Attributes:
        skills: How many skills were examined.
        roster_digest: Digest of the roster.
        settings: What they were examined against.
        cost: Estimated tokens per turn: ``index`` (the index at the width), ``full`` (with whole
            descriptions), ``per_skill``.
        findings: The worst kind first, and within a kind the heaviest first.
        pairs: The confusable pairs, the most alike first.
        labels: Rates per skill and confusion pairs, where labelled requests were given.
    """

    model_config = ConfigDict(frozen=True)

    skills: int
    roster_digest: str
    settings: Settings
    cost: dict[str, float]
    findings: tuple[Finding, ...]
    pairs: tuple[Pair, ...]
    labels: dict[str, Any] | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Findings by kind."""
        found: dict[str, int] = {}
        for finding in self.findings:
            found[finding.code] = found.get(finding.code, 0) + 1
        return found


def in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    """Findings in the order of a report."""
    kinds = list(RULES)

    def key(finding: Finding) -> tuple[int, int, float, str]:
        severity = SEVERITIES.index(finding.severity)
        return severity, kinds.index(finding.code), -finding.weight, finding.skill

    return tuple(sorted(findings, key=key))
