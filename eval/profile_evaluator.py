"""The evaluator of profiles: the same requests under the profile in use and under the candidate."""

from __future__ import annotations

from collections.abc import Sequence

from eval.data import LabelledTurn, requests_digest
from eval.evaluators import WORSE_AT, Ask, EvaluatorError
from eval.paired import mcnemar
from roster import Roster
from roster.store import Evaluation, Snapshot
from router.profile import Profile

BOUND, RIGHT, WRONG, NEEDLESS = "bound", "right", "wrong", "needless"


class ProfileEvaluator:
    """Compares a profile with the one in use on the same requests.

    The cases are ``bound`` (the profile names this roster and these requests), ``right`` (not
    fewer right answers), ``wrong`` and ``needless`` (not more such answers); each of the last
    three fails when it is worse beyond chance, by a paired one-sided exact test at 0.05.

    Args:
        turns: The labelled requests.
        roster: The roster.
        candidate: Asks the router with the candidate.
        current: Asks the router with the profile in use, or the shipped numbers.
    """

    required = frozenset({BOUND, RIGHT, WRONG, NEEDLESS})

    def __init__(
        self, turns: Sequence[LabelledTurn], roster: Roster, candidate: Ask, current: Ask
    ) -> None:
        self._turns = list(turns)
        self._roster = roster
        self._candidate = candidate
        self._current = current

    def __call__(self, candidate: Profile, baseline: Snapshot) -> Evaluation:
        """Evaluate; the candidate itself is only read."""
        digest = requests_digest(self._turns)
        bound = (candidate.roster_digest, candidate.requests_digest)
        if bound != (self._roster.digest, digest):
            raise EvaluatorError(
                "the profile is bound to another roster or to other requests; stage a version that "
                "is made for these"
            )
        before = self._current(self._roster, self._turns)
        after = self._candidate(self._roster, self._turns)
        golds = [turn.gold for turn in self._turns]
        results: dict[str, bool] = {BOUND: True}
        evidence: dict[str, object] = {"roster": self._roster.digest, "requests": digest}
        for case, bad in ((RIGHT, False), (WRONG, True), (NEEDLESS, True)):
            old = [_is(case, gold, answer) for gold, answer in zip(golds, before, strict=True)]
            new = [_is(case, gold, answer) for gold, answer in zip(golds, after, strict=True)]
            test = mcnemar(old, new)
            more = test.only_second > test.only_first
            changed_for_worse = more if bad else test.only_first > test.only_second
            results[case] = not (changed_for_worse and test.p / 2 < WORSE_AT)
            evidence[case] = {"before": sum(old), "after": sum(new), "p": test.p}
        return Evaluation(results=results, evidence=evidence)


def _is(case: str, gold: str | None, answer: str | None) -> bool:
    if case == NEEDLESS:
        return gold is None and answer is not None
    if gold is None:
        return False
    return answer == gold if case == RIGHT else answer is not None and answer != gold
