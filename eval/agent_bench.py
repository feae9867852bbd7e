"""The agent benchmark: every labelled request, once an arm, graded on the first response."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from eval.agents.prompt import agent_request, system_prompt
from eval.agents.protocol import Agent, AgentError, AgentRequest, Reply
from eval.agents.store import ResultStore
from eval.bench import Answer
from eval.data import LabelledTurn
from roster import Roster
from router.block import suggestion_block

BASELINE, SUGGESTED, ORACLE = "baseline", "suggested", "oracle"
ARMS = (BASELINE, SUGGESTED, ORACLE)
"""What an agent is told: nothing; what the router suggests; the right answer."""

Verdict = Literal["right", "wrong", "none", "needless", "quiet", "unanswered"]
Progress = Callable[[int, int], None]


class Told(BaseModel):
    """What an arm tells the agent about one turn.

    Attributes:
        block: The text; "" tells nothing.
        suggested: Skill it names, or None.
    """

    model_config = ConfigDict(frozen=True)

    block: str = ""
    suggested: str | None = None


class Outcome(BaseModel):
    """One turn in one arm.

    Attributes:
        turn: The labelled turn.
        told: What the agent was told.
        reply: The first response, or None when there is none.
        source: "live" when it was asked for in this run, "replayed" from the store, "published"
            from an imported run, "none" without a response.
        why: Why there is no response.
    """

    model_config = ConfigDict(frozen=True)

    turn: LabelledTurn
    told: Told
    reply: Reply | None = None
    source: Literal["live", "replayed", "published", "none"] = "none"
    why: str | None = None

    @property
    def loaded(self) -> str | None:
        """The first skill the agent loaded, "" when its call named none, None without a call."""
        return self.reply.loaded[0] if self.reply is not None and self.reply.loaded else None

    @property
    def verdict(self) -> Verdict:
        """Covered: "right", "wrong" (another skill) or "none"; uncovered: "needless" or "quiet"."""
        if self.reply is None:
            return "unanswered"
        if not self.turn.covered:
            return "quiet" if self.loaded is None else "needless"
        if self.loaded is None:
            return "none"
        return "right" if self.loaded == self.turn.gold else "wrong"

    @property
    def failed(self) -> bool:
        """Whether it counts as a wrong load (covered turns) or a needless one (others)."""
        return self.verdict in ("wrong", "none", "needless")


class AgentRun(BaseModel):
    """All arms of a run.

    Attributes:
        model: Model that was measured.
        arms: Outcomes of each arm, in the order of the turns.
        live: Requests that were asked for in this run.
        interrupted: Requests under way when an earlier run of the same store was killed.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    arms: dict[str, tuple[Outcome, ...]]
    live: int
    interrupted: int = 0

    def records(self) -> list[dict[str, Any]]:
        """One line of `--out` for each turn and arm."""
        return [
            {
                "arm": arm,
                "text": outcome.turn.text,
                "gold": outcome.turn.gold,
                "kind": outcome.turn.group,
                "suggested": outcome.told.suggested,
                "verdict": outcome.verdict,
                "loaded": list(outcome.reply.loaded) if outcome.reply else None,
                "calls": list(outcome.reply.calls) if outcome.reply else None,
                "usage": outcome.reply.usage.model_dump() if outcome.reply else None,
                "latency_ms": outcome.reply.latency_ms if outcome.reply else None,
                "source": outcome.source,
                "why": outcome.why,
            }
            for arm, outcomes in self.arms.items()
            for outcome in outcomes
        ]


def run_agent_bench(
    agent: Agent,
    roster: Roster,
    turns: Sequence[LabelledTurn],
    arms: Mapping[str, Sequence[Told]],
    store: ResultStore,
    progress: Progress | None = None,
    *,
    published: bool = False,
) -> AgentRun:
    """Send every turn to the agent, once an arm, unless the store has the answer.

    Two arms that send the same bytes for a turn share one answer.

    Args:
        agent: The agent.
        roster: The skills of its index.
        turns: The labelled turns.
        arms: What each arm tells it, turn by turn (see `arms_told`).
        store: Where answers are kept.
        progress: Told how many live requests are done, of how many.
        published: Whether answers of imported runs count, where an arm told the same: they were
            given under another prompt than ours, so they are no answers to a live run.

    Returns:
        The run; turns without an answer say why.

    Raises:
        AgentError: If the agent cannot be asked at all.
        StoreError: If the store fails.
    """
    system = system_prompt(roster)
    requests = {
        arm: [
            agent_request(agent.model, system, turn, told.block, agent.endpoint)
            for turn, told in zip(turns, tolds, strict=True)
        ]
        for arm, tolds in arms.items()
    }
    interrupted = store.interrupted()
    replies: dict[str, Reply] = {}
    missing: dict[str, AgentRequest] = {}
    imported: dict[tuple[str, int], Reply] = {}
    for arm, row in requests.items():
        for index, request in enumerate(row):
            if request.digest in replies:
                continue
            kept = store.get(request.digest)
            if kept is not None:
                replies[request.digest] = kept
                continue
            old = store.recorded(agent.model, arm, turns[index].text) if published else None
            if old is not None and old.block == arms[arm][index].block:
                imported[arm, index] = old.reply
            else:
                missing[request.digest] = request
    journal = _Journal(store, len(missing), progress)
    agent.answer(list(missing.values()), journal)

    def outcome(arm: str, index: int) -> Outcome:
        digest = requests[arm][index].digest
        turn, told = turns[index], arms[arm][index]
        if (arm, index) in imported:
            return Outcome(turn=turn, told=told, reply=imported[arm, index], source="published")
        if digest in replies:
            return Outcome(turn=turn, told=told, reply=replies[digest], source="replayed")
        if digest in journal.replies:
            return Outcome(turn=turn, told=told, reply=journal.replies[digest], source="live")
        return Outcome(turn=turn, told=told, why=journal.failures.get(digest, "it was not asked"))

    return AgentRun(
        model=agent.model,
        arms={arm: tuple(outcome(arm, i) for i in range(len(turns))) for arm in arms},
        live=len(journal.replies),
        interrupted=interrupted,
    )


def arms_told(
    arms: Sequence[str],
    turns: Sequence[LabelledTurn],
    answers: Sequence[Answer] | None,
    store: ResultStore,
    model: str,
) -> dict[str, list[Told]]:
    """What each arm tells the agent, turn by turn.

    Args:
        arms: "baseline", "suggested", "oracle", or an arm of an imported run.
        turns: The labelled turns.
        answers: The router's answers to them, for "suggested".
        store: The store that holds imported runs.
        model: Model of the imported run.

    Raises:
        AgentError: If there is no such arm, or "suggested" has no answers.
    """
    told: dict[str, list[Told]] = {}
    for arm in arms:
        if arm == BASELINE:
            told[arm] = [Told() for _ in turns]
        elif arm == ORACLE:
            told[arm] = [Told(block=suggestion_block(t.gold), suggested=t.gold) for t in turns]
        elif arm == SUGGESTED:
            if answers is None:
                raise AgentError("the arm suggested needs the router's answers")
            told[arm] = [
                Told(block=suggestion_block(a.suggestion), suggested=a.suggestion.name)
                for a in answers
            ]
        else:
            told[arm] = _published(arm, turns, store, model)
    return told


def _published(
    arm: str, turns: Sequence[LabelledTurn], store: ResultStore, model: str
) -> list[Told]:
    known = store.recorded_arms(model)
    if arm not in known:
        of_store = f"; imported runs of {model} have {', '.join(known)}" if known else ""
        raise AgentError(f"there is no arm {arm!r}: the arms are {', '.join(ARMS)}{of_store}")
    told = []
    for turn in turns:
        row = store.recorded(model, arm, turn.text)
        if row is None:
            raise AgentError(
                f"the imported arm {arm!r} has no answer to {turn.text[:60]!r}; give the requests "
                "of that run"
            )
        told.append(Told(block=row.block, suggested=row.suggested))
    return told


class _Journal:
    """Keeps what becomes of each request: answers on disk first, then in memory."""

    def __init__(self, store: ResultStore, total: int, progress: Progress | None) -> None:
        self._store = store
        self._total = total
        self._progress = progress
        self._lock = threading.Lock()
        self.replies: dict[str, Reply] = {}
        self.failures: dict[str, str] = {}

    def begin(self, request: AgentRequest) -> None:
        self._store.started(request.digest)

    def record(self, request: AgentRequest, reply: Reply) -> None:
        self._store.put(request.digest, request.model, reply)
        with self._lock:
            self.replies[request.digest] = reply
        self._tell()

    def fail(self, request: AgentRequest, why: str) -> None:
        self._store.gave_up(request.digest)
        with self._lock:
            self.failures[request.digest] = why
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            with self._lock:
                done = len(self.replies) + len(self.failures)
            self._progress(done, self._total)
