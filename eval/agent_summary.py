"""The numbers of an agent run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from pydantic import BaseModel, ConfigDict

from eval.agent_bench import AgentRun, Outcome
from eval.agents.prices import Price
from eval.agents.protocol import Usage
from eval.metrics import Rate, percentiles, rate
from eval.paired import McNemar, mcnemar
from roster import Roster

_TOLD = ("right", "wrong", "silent", "needless", "quiet")


class Followed(BaseModel):
    """What the agent did after one kind of suggestion.

    Attributes:
        turns: Answered turns with it.
        right: On covered turns: how often the right skill was loaded first.
        loads: How often any skill was loaded.
    """

    model_config = ConfigDict(frozen=True)

    turns: int
    right: int
    loads: int


class ArmScore(BaseModel):
    """One arm.

    Attributes:
        wrong_load: Covered turns whose first load is not the right skill, or that load nothing.
        needless_load: Uncovered turns that load anything.
        wrong_other: Wrong loads that picked another skill.
        wrong_none: Wrong loads that loaded nothing.
        same_category: Of `wrong_other`, picks from the right skill's category.
        other_category: Picks from another category.
        unknown_name: Picks of a name the roster does not have.
        unanswered: Turns without an answer; no rate counts them.
        told: What the arm told, against the labels: right, wrong, silent, needless, quiet.
        followed: What the agent did after each of these, on turns where it was told anything.
        by_kind: Verdicts of each kind of turn.
        usage: Tokens.
        cost_usd: Price of the arm's answers; None when no price is known.
        latency_ms: Median and 95th percentile of the answers' times; None without any.
        live: Answers asked for in this run.
        replayed: Answers from the store or an imported run.
    """

    model_config = ConfigDict(frozen=True)

    wrong_load: Rate
    needless_load: Rate
    wrong_other: int
    wrong_none: int
    same_category: int
    other_category: int
    unknown_name: int
    unanswered: int
    told: dict[str, int]
    followed: dict[str, Followed]
    by_kind: dict[str, dict[str, int]]
    usage: Usage
    cost_usd: float | None
    latency_ms: dict[str, float] | None
    live: int
    replayed: int


class PairScore(BaseModel):
    """Two arms on the turns that both answered.

    Attributes:
        first: Name of the first arm.
        second: Name of the second.
        wrong_load: `only_second` were right only in the second arm: it fixed them; `only_first`
            only in the first: the second broke them.
        needless_load: The same for needless loads.
    """

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    wrong_load: McNemar
    needless_load: McNemar


class AgentSummary(BaseModel):
    """A run in numbers.

    Attributes:
        model: Model that was measured.
        covered: Covered turns.
        uncovered: Uncovered turns.
        arms: Score of each arm.
        pairs: Each pair of arms.
        live: Requests asked for in this run.
        interrupted: Requests under way when an earlier run was killed.
        unanswered: Reason to the number of unanswered turns, over all arms.
        price: What the costs rest on; None when no price is known.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    covered: int
    uncovered: int
    arms: dict[str, ArmScore]
    pairs: tuple[PairScore, ...]
    live: int
    interrupted: int
    unanswered: dict[str, int]
    price: Price | None = None


def summarize_agent(run: AgentRun, roster: Roster, price: Price | None = None) -> AgentSummary:
    """The numbers of a run.

    Args:
        run: The run.
        roster: The skills, for their categories.
        price: Price of the model, when it is known.
    """
    turns = [outcome.turn for outcome in next(iter(run.arms.values()), ())]
    why = Counter(o.why for outcomes in run.arms.values() for o in outcomes if o.why)
    return AgentSummary(
        model=run.model,
        covered=sum(turn.covered for turn in turns),
        uncovered=sum(not turn.covered for turn in turns),
        arms={arm: _arm(outcomes, roster, price) for arm, outcomes in run.arms.items()},
        pairs=tuple(_pair(a, b, run.arms[a], run.arms[b]) for a, b in combinations(run.arms, 2)),
        live=run.live,
        interrupted=run.interrupted,
        unanswered=dict(why.most_common()),
        price=price,
    )


def suggestion_verdict(outcome: Outcome) -> str:
    """What the arm told, against the label: right, wrong, silent; needless or quiet."""
    suggested, gold = outcome.told.suggested, outcome.turn.gold
    if gold is None:
        return "quiet" if suggested is None else "needless"
    if suggested is None:
        return "silent"
    return "right" if suggested == gold else "wrong"


def _arm(outcomes: Sequence[Outcome], roster: Roster, price: Price | None) -> ArmScore:
    answered = [o for o in outcomes if o.reply is not None]
    count = Counter(o.verdict for o in answered)
    covered = count["right"] + count["wrong"] + count["none"]
    told = Counter(suggestion_verdict(o) for o in outcomes)
    places = Counter(_place(o, roster) for o in answered if o.verdict == "wrong")
    replies = [o.reply for o in outcomes if o.reply is not None]
    times = [r.latency_ms for r in replies if r.latency_ms is not None]
    by_kind: dict[str, Counter[str]] = {}
    by_told: dict[str, list[Outcome]] = {}
    for o in answered:
        by_kind.setdefault(o.turn.group, Counter())[o.verdict] += 1
        if o.told.block:
            by_told.setdefault(suggestion_verdict(o), []).append(o)
    return ArmScore(
        wrong_load=rate(count["wrong"] + count["none"], covered),
        needless_load=rate(count["needless"], count["needless"] + count["quiet"]),
        wrong_other=count["wrong"],
        wrong_none=count["none"],
        same_category=places["same"],
        other_category=places["other"],
        unknown_name=places["unknown"],
        unanswered=len(outcomes) - len(answered),
        told={verdict: told[verdict] for verdict in _TOLD},
        followed={
            told: Followed(
                turns=len(group),
                right=sum(o.verdict == "right" for o in group),
                loads=sum(o.loaded is not None for o in group),
            )
            for told, group in sorted(by_told.items())
        },
        by_kind={kind: dict(sorted(c.items())) for kind, c in sorted(by_kind.items())},
        usage=sum((r.usage for r in replies), Usage()),
        cost_usd=None if price is None else round(sum(price.of(r) for r in replies), 6),
        latency_ms=percentiles(times) if times else None,
        live=sum(o.source == "live" for o in outcomes),
        replayed=sum(o.source in ("replayed", "published") for o in outcomes),
    )


def _place(outcome: Outcome, roster: Roster) -> str:
    picked = roster.get(outcome.loaded or "")
    gold = roster.get(outcome.turn.gold or "")
    if picked is None or gold is None:
        return "unknown"
    return "same" if picked.category == gold.category else "other"


def _pair(a: str, b: str, first: Sequence[Outcome], second: Sequence[Outcome]) -> PairScore:
    both = [(x, y) for x, y in zip(first, second, strict=True) if x.reply and y.reply]

    def test(covered: bool) -> McNemar:
        pairs = [(x, y) for x, y in both if x.turn.covered == covered]
        return mcnemar([not x.failed for x, _ in pairs], [not y.failed for _, y in pairs])

    return PairScore(first=a, second=b, wrong_load=test(True), needless_load=test(False))
