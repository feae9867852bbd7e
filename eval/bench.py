"""The router's own benchmark: what it says on labelled turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from eval.data import LabelledTurn, requests_digest
from eval.metrics import percentiles, rate
from router.pipeline import Router
from router.suggestion import Suggestion

Progress = Callable[[int, int], None]


class Answer(BaseModel):
    """One labelled turn and what the router said.

    Attributes:
        turn: The labelled turn.
        suggestion: The router's answer.
    """

    model_config = ConfigDict(frozen=True)

    turn: LabelledTurn
    suggestion: Suggestion

    @property
    def verdict(self) -> str:
        """ "right", "wrong" or "silent" on a covered turn; "needless" or "quiet" on another."""
        name = self.suggestion.name
        if self.turn.gold is None:
            return "quiet" if name is None else "needless"
        if name is None:
            return "silent"
        return "right" if name == self.turn.gold else "wrong"

    @property
    def rank(self) -> int | None:
        """Place of the right skill in the wide rank, 1 the best; None without one."""
        for place, (name, _) in enumerate(self.suggestion.ranking.entries, start=1):
            if name == self.turn.gold:
                return place
        return None

    def record(self) -> dict[str, Any]:
        """One line of `--out`."""
        suggestion = self.suggestion
        gate = suggestion.gate
        return {
            "text": self.turn.text,
            "gold": self.turn.gold,
            "kind": self.turn.group,
            "suggested": suggestion.name,
            "reason": suggestion.reason.value,
            "gate": {} if gate is None else {**gate.model_dump(), "need": gate.need},
            "ranked": [[name, p] for name, p in suggestion.ranking.entries[:10]],
            "fits": {} if suggestion.reread is None else suggestion.reread.fits,
            "elapsed_ms": suggestion.elapsed_ms.get("total", 0.0),
        }


def run_bench(
    router: Router, turns: Sequence[LabelledTurn], progress: Progress | None = None
) -> list[Answer]:
    """Ask the router about every turn, in order.

    Args:
        router: The router; the first question warms it up and is not timed.
        turns: The labelled turns.
        progress: Told how many are done.

    Returns:
        One answer a turn.
    """
    if turns:
        router.suggest("a warm-up request that is not measured")
    answers = []
    for done, turn in enumerate(turns, start=1):
        answers.append(Answer(turn=turn, suggestion=router.suggest(turn.turn())))
        if progress is not None:
            progress(done, len(turns))
    return answers


def summarize(router: Router, answers: Sequence[Answer]) -> dict[str, Any]:
    """The numbers of `bench --json`.

    Args:
        router: The router that answered.
        answers: Its answers.

    Returns:
        Counts `covered, uncovered, right, wrong, silent, needless`; `hit_at_1`, `hit_at_3`,
        `hit_at_10` of the wide rank on covered turns; `rates` with Wilson intervals; `latency_ms`;
        `by_kind`, `by_style` and `by_lang` (this one with its own hits); `reasons`; digests.
    """
    covered = [answer for answer in answers if answer.turn.covered]
    uncovered = [answer for answer in answers if not answer.turn.covered]
    count = {
        name: sum(answer.verdict == name for answer in answers)
        for name in ("right", "wrong", "silent", "needless")
    }
    rates = {
        name: rate(count[name], len(uncovered) if name == "needless" else len(covered))
        for name in count
    }
    times = [answer.suggestion.elapsed_ms.get("total", 0.0) for answer in answers]
    ranked = [answer.suggestion.elapsed_ms.get("rank", 0.0) for answer in answers]
    return {
        "covered": len(covered),
        "uncovered": len(uncovered),
        **count,
        **_hits(answers),
        "rates": {name: r.model_dump() for name, r in rates.items()},
        "latency_ms": percentiles(times),
        "rank_latency_ms": percentiles(ranked),
        "by_kind": _by(answers, lambda answer: answer.turn.group),
        "by_style": _by(answers, lambda answer: answer.turn.style or "unknown"),
        "by_lang": _by_language(answers),
        "reasons": _counts(answer.suggestion.reason.value for answer in answers),
        "thresholds": router.thresholds.model_dump(include={"gate", "fit", "shortlist", "excerpt"}),
        "digests": {
            "roster": router.roster.digest,
            "requests": requests_digest([answer.turn for answer in answers]),
            "thresholds": router.thresholds.digest,
            "weights": router.weights_digest,
        },
    }


def _by(
    answers: Sequence[Answer], key: Callable[[Answer], str]
) -> dict[str, dict[str, int | float]]:
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(key(answer), []).append(answer)
    return {
        name: {"turns": len(group), **_counts(answer.verdict for answer in group)}
        for name, group in sorted(groups.items())
    }


def _by_language(answers: Sequence[Answer]) -> dict[str, dict[str, int | float]]:
    found = _by(answers, lambda answer: answer.turn.lang)
    for language, row in found.items():
        here = [answer for answer in answers if answer.turn.lang == language]
        row["covered"] = sum(answer.turn.covered for answer in here)
        row["uncovered"] = len(here) - row["covered"]
        row.update(_hits(here))
    return found


def _hits(answers: Sequence[Answer]) -> dict[str, float]:
    """Shares of covered turns whose right skill is among the first k of the wide rank."""
    # A hit means nothing when the gate's answer kept the rank out: the local judge always ranks.
    ranks = [answer.rank for answer in answers if answer.turn.covered]
    return {
        f"hit_at_{k}": round(sum(r is not None and r <= k for r in ranks) / max(len(ranks), 1), 4)
        for k in (1, 3, 10)
    }


def _counts(values: Any) -> dict[str, int | float]:
    counts: dict[str, int | float] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))
