"""Evaluators for candidates: labelled requests, asked before and after, compared case by case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eval.data import LabelledTurn, requests_digest
from eval.paired import mcnemar
from eval.wordings import description_variants
from roster import Roster
from roster.store import Evaluation, SkillVersion, Snapshot
from roster.text import one_line, visible

Ask = Callable[[Roster, Sequence[LabelledTurn]], "list[str | None]"]
"""Answers, for a roster, which skill each turn loads."""

OWN, QUIET = "own-requests", "uncovered-requests"
WORSE_AT = 0.05
"""One-sided p below which fewer right answers than before count as a loss."""

_MOST_ROWS = 200


class EvaluatorError(ValueError):
    """The evaluation cannot be made as asked; the message names the remedy."""


class RequestsEvaluator:
    """Puts a candidate into the roster and asks labelled requests before and after.

    The cases are ``own-requests`` (enough of the candidate's own requests load it, and not fewer
    than before beyond chance), ``keeps:NAME`` for every other skill with requests (none of them
    goes to the candidate that did not before), and ``uncovered-requests`` (no more of them load
    the candidate than before, with `max_needless` to spare).

    Args:
        turns: The labelled requests.
        ask: Asks a router or an agent.
        base: Skills beside those of the store; one of the same name gives way to the store's.
        name: Of the candidate.
        min_right: Least share of its own requests that must load it, 0..1.
        max_needless: Most uncovered requests that may newly load it.
        variants: Other wordings of the candidate, for the spread.
        about: What is asked, for the evidence: digests of weights and thresholds, the model.

    Raises:
        EvaluatorError: If no request is labelled with the candidate.
    """

    def __init__(
        self,
        turns: Sequence[LabelledTurn],
        ask: Ask,
        base: Roster,
        name: str,
        min_right: float = 0.5,
        max_needless: int = 0,
        variants: Sequence[SkillVersion] = (),
        about: dict[str, Any] | None = None,
    ) -> None:
        self._turns = list(turns)
        self._ask = ask
        self._base = base
        self._name = name
        self._min_right = min_right
        self._max_needless = max_needless
        self._variants = tuple(variants)
        self._about = dict(about or {})
        if not any(turn.gold == name for turn in turns):
            raise EvaluatorError(
                f"no request of the cases is labelled {name!r}; add some in the words of users, "
                "besides those of its neighbours and some that need no skill"
            )

    @property
    def required(self) -> frozenset[str]:
        """Names of the cases."""
        others = {turn.gold for turn in self._turns} - {None, self._name}
        uncovered = [QUIET] if any(turn.gold is None for turn in self._turns) else []
        return frozenset([OWN, *uncovered, *(f"keeps:{name}" for name in others)])

    def __call__(self, candidate: SkillVersion, baseline: Snapshot) -> Evaluation:
        """Evaluate; the candidate itself is only read."""
        before_roster = with_skills(self._base, baseline.skills)
        after_roster = with_skills(before_roster, [candidate])
        self._refuse_unknown_golds(after_roster)
        known = self._name in before_roster
        before = self._ask(before_roster, self._turns) if len(before_roster) else []
        before = before or [None] * len(self._turns)
        after = self._ask(after_roster, self._turns)
        own = [i for i, turn in enumerate(self._turns) if turn.gold == self._name]
        right = [after[i] == self._name for i in own]
        test = mcnemar([before[i] == self._name for i in own], right)
        # One-sided: half of the two-sided p when the loss is on the candidate's side.
        worse = known and test.only_first > test.only_second and test.p / 2 < WORSE_AT
        taken = [
            i
            for i, turn in enumerate(self._turns)
            if turn.gold != self._name and after[i] == self._name and before[i] != self._name
        ]
        needless = [i for i in taken if self._turns[i].gold is None]
        results: dict[str, bool] = {}
        reasons: dict[str, str] = {}
        for case in sorted(self.required):
            if case == OWN:
                results[case] = sum(right) >= self._min_right * len(own) and not worse
                reasons[case] = f"{sum(right)} of its {len(own)} requests load it" + (
                    f", {sum(before[i] == self._name for i in own)} did before" if known else ""
                )
                continue
            if case == QUIET:
                lost = needless if len(needless) > self._max_needless else []
            else:
                lost = [i for i in taken if self._turns[i].gold == case.removeprefix("keeps:")]
            results[case] = not lost
            if lost:
                more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
                reasons[case] = f"newly loads it: {_short(self._turns[lost[0]].text)}{more}"
        evidence = {
            **self._about,
            "roster_before": before_roster.digest,
            "roster_after": after_roster.digest,
            "requests": requests_digest(self._turns),
            "before": _counts(self._turns, before, self._name),
            "after": _counts(self._turns, after, self._name),
            "own": {"right": sum(right), "of": len(own), "least_share": self._min_right,
                    "mcnemar": test.model_dump() if known else None},
            "neighbours": self._neighbours(before, after),
            "taken": [self._row(i, before, after) for i in taken][:_MOST_ROWS],
            "missed": [
                self._row(i, before, after) for i in own if after[i] != self._name
            ][:_MOST_ROWS],
            "spread": self._spread(candidate, before_roster, sum(right) / len(own)),
        }  # fmt: skip
        failed = {case: reason for case, reason in reasons.items() if not results[case]}
        return Evaluation(results=results, evidence=evidence, reasons=failed)

    def _neighbours(
        self, before: Sequence[str | None], after: Sequence[str | None]
    ) -> dict[str, dict[str, int]]:
        """For each other skill, how many of its requests load it before and after."""
        found: dict[str, dict[str, int]] = {}
        for turn, old, new in zip(self._turns, before, after, strict=True):
            if turn.gold not in (None, self._name):
                row = found.setdefault(
                    str(turn.gold), {"requests": 0, "right_before": 0, "right_after": 0}
                )
                row["requests"] += 1
                row["right_before"] += old == turn.gold
                row["right_after"] += new == turn.gold
        return found

    def _refuse_unknown_golds(self, roster: Roster) -> None:
        unknown = sorted({t.gold for t in self._turns if t.gold is not None} - set(roster.names))
        if unknown:
            raise EvaluatorError(
                f"the cases are labelled with {', '.join(unknown[:5])}, which are neither in the "
                "roster nor active; give --roster the skills they are about, or mend the labels"
            )

    def _row(
        self, i: int, before: Sequence[str | None], after: Sequence[str | None]
    ) -> dict[str, Any]:
        turn = self._turns[i]
        return {"text": turn.text, "gold": turn.gold, "before": before[i], "after": after[i]}

    def _spread(self, candidate: SkillVersion, roster: Roster, share: float) -> dict[str, Any]:
        """The share of its own requests that each wording of the candidate gets."""
        own = [turn for turn in self._turns if turn.gold == self._name]
        shares = {"as staged": share}
        wordings = description_variants(candidate)
        wordings += [(f"variant {v.version}", v) for v in self._variants]
        for label, variant in wordings:
            answers = self._ask(with_skills(roster, [variant]), own)
            shares[label] = sum(answer == self._name for answer in answers) / len(own)
        values = np.array(list(shares.values()))
        mean = float(values.mean())
        return {
            "right_by_wording": {label: round(value, 4) for label, value in shares.items()},
            "mean": round(mean, 4),
            "min": round(float(values.min()), 4),
            "max": round(float(values.max()), 4),
            "sd": round(float(values.std(ddof=1)) if len(values) > 1 else 0.0, 4),
            # What drawing other requests of the same number would give.
            "case_sampling_sd": round(float(np.sqrt(mean * (1 - mean) / len(own))), 4),
        }


def with_skills(roster: Roster, versions: Sequence[SkillVersion]) -> Roster:
    """A roster with versions in the place of the skills of their names, new ones at the end."""
    fresh = {version.name: version.skill() for version in versions}
    kept = [fresh.pop(skill.name, skill) for skill in roster]
    return Roster.from_skills([*kept, *fresh.values()])


def _short(text: str) -> str:
    text = visible(one_line(text))
    return f"'{text if len(text) <= 80 else text[:77] + '...'}'"


def _counts(
    turns: Sequence[LabelledTurn], answers: Sequence[str | None], name: str
) -> dict[str, int]:
    """Right, wrong, silent and needless answers over all turns, and those that load `name`."""
    pairs = [(turn.gold, answer) for turn, answer in zip(turns, answers, strict=True)]
    return {
        "right": sum(gold is not None and answer == gold for gold, answer in pairs),
        "wrong": sum(None not in (gold, answer) and answer != gold for gold, answer in pairs),
        "silent": sum(gold is not None and answer is None for gold, answer in pairs),
        "needless": sum(gold is None and answer is not None for gold, answer in pairs),
        "loads_candidate": sum(answer == name for _, answer in pairs),
    }
