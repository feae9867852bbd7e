"""What a cascade escalated, and what each added call bought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval.bench import Answer
from eval.metrics import rate
from router.suggestion import Escalation, Outcome
from router.usage import Usage


def is_right(name: str | None, gold: str | None) -> bool:
    """Whether a decision is no mistake: the right skill, or silence where no skill fits."""
    return name == gold


def summarize_cascade(answers: Sequence[Answer]) -> dict[str, Any]:
    """The numbers of a cascade, beside those of its final answers.

    Args:
        answers: Answers of a router with a cascade.

    Returns:
        Nothing when no answer came from a cascade. Else one entry, `cascade`: `escalated` and the
        share of turns that were (with its Wilson interval), the counts of `outcomes`,
        `local_mistakes` and what became of them, and what the added calls bought: `fixed`,
        `broken` and `net_per_escalated` of decisions, `calls` and `tokens`.
    """
    settled: list[tuple[Answer, Escalation]] = [
        (answer, answer.suggestion.escalation)
        for answer in answers
        if answer.suggestion.escalation is not None
    ]
    if not settled:
        return {}
    outcomes = {outcome.value: 0 for outcome in Outcome}
    fixed = broken = local_mistakes = calls = tokens = 0
    for answer, escalation in settled:
        outcomes[escalation.outcome.value] += 1
        before = is_right(escalation.local_name, answer.turn.gold)
        after = is_right(answer.suggestion.name, answer.turn.gold)
        local_mistakes += not before
        fixed += after and not before
        broken += before and not after
        spent = answer.suggestion.usage.values()
        calls += sum(usage.calls for usage in spent)
        tokens += sum(usage.tokens for usage in spent)
    asked = outcomes[Outcome.ANSWERED] + outcomes[Outcome.FAILED]
    numbers = {
        "escalated": asked,
        "share_escalated": rate(asked, len(settled)).model_dump(),
        "outcomes": outcomes,
        "local_mistakes": local_mistakes,
        "fixed": fixed,
        "broken": broken,
        "mistakes_removed": rate(fixed, local_mistakes).model_dump(),
        "net_per_escalated": round((fixed - broken) / asked, 4) if asked else 0.0,
        "calls": calls,
        "tokens": tokens,
    }
    return {"cascade": numbers}


def summarize_usage(answers: Sequence[Answer]) -> dict[str, Any]:
    """What the judges' models spent: one entry, `usage`, by stage; nothing for a local judge."""
    spent: dict[str, Usage] = {}
    for answer in answers:
        for stage, usage in answer.suggestion.usage.items():
            spent[stage] = spent.get(stage, Usage()) + usage
    return {"usage": {stage: usage.model_dump() for stage, usage in spent.items()}} if spent else {}


def cascade_line(cascade: dict[str, Any]) -> str:
    """The numbers of `summarize_cascade` as two lines of text."""
    share, removed = cascade["share_escalated"], cascade["mistakes_removed"]
    return (
        f"cascade     {cascade['escalated']} turns escalated ({share['value']:.1%}, 95 % "
        f"{share['low']:.1%} - {share['high']:.1%}), {cascade['calls']} calls\n"
        f"            {cascade['fixed']} of {cascade['local_mistakes']} local mistakes fixed "
        f"({removed['value']:.1%}, 95 % {removed['low']:.1%} - {removed['high']:.1%}), "
        f"{cascade['broken']} broken; {cascade['net_per_escalated']:.2f} gained an escalated turn"
    )
