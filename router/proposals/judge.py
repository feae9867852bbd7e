"""A judge that puts its two questions to a model: chunks, sessions, and the same for asyncio."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from roster import Roster, Skill
from router.errors import RouterError
from router.proposals.bounds import Bounds
from router.proposals.errors import ProposalError
from router.proposals.session import AsyncProvider, Limits, Meter, Provider, Reader, Session
from router.proposals.shapes import WideProposal
from router.suggestion import Gate, Ranking, Reread
from router.turn import Turn

Value = TypeVar("Value")
Answer = TypeVar("Answer")

WINNERS = 10
"""Skills of a chunk that go on to the next round."""


@dataclass(frozen=True)
class Ask(Generic[Value]):
    """One question to a model.

    Attributes:
        call: Puts it, blocking.
        acall: Puts it, asynchronously.
        read: Reads the parsed reply.
        meter: Finds the tokens in it.
    """

    call: Provider
    acall: AsyncProvider
    read: Reader[Value]
    meter: Meter


class Questions(Protocol):
    """How one kind of model is asked."""

    @property
    def digest(self) -> str:
        """Names the model and the exact wording of the questions."""
        ...

    @property
    def capacity(self) -> int:
        """Most skills that one question takes; more than `WINNERS` times two."""
        ...

    def wide(
        self, turn: Turn, skills: Sequence[Skill], bounds: Bounds, recurring: bool
    ) -> Ask[WideProposal]:
        """The first question over some skills; `recurring` when every turn asks over the same."""
        ...

    def reread(self, turn: Turn, candidates: Sequence[Skill], bounds: Bounds) -> Ask[Reread]:
        """The second question."""
        ...


class ModelJudge:
    """Answers both questions by asking a model; safe to share between threads.

    Args:
        questions: How the model is asked.
        limits: Budgets of a stage.
        admit: Asked before every call; see `Session`.
        cancelled: Asked between attempts; see `Session`.

    Raises:
        RouterError: If the questions take too few skills at once.
    """

    def __init__(
        self,
        questions: Questions,
        limits: Limits | None = None,
        *,
        admit: Callable[[], str | None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        if questions.capacity <= 2 * WINNERS:
            raise RouterError(
                f"a question must take more than {2 * WINNERS} skills, not {questions.capacity}"
            )
        self.questions = questions
        self.limits = limits or Limits(deadline_s=30.0)
        self._admit = admit
        self._cancelled = cancelled

    @property
    def digest(self) -> str:
        """Names the model and the exact wording of the questions."""
        return self.questions.digest

    def calls_needed(self, skills: int) -> int:
        """Calls that one rank over so many skills takes when no reply needs a repair."""
        calls, capacity = 1, self.questions.capacity
        while skills > capacity:
            chunks = -(-skills // capacity)
            calls += chunks
            skills = chunks * WINNERS
        return calls

    def check(self, roster: Roster) -> None:
        """Refuse a roster that the call budget cannot rank.

        Raises:
            RouterError: If it needs more calls than `Limits.max_calls`.
        """
        needed = self.calls_needed(len(roster))
        if needed > self.limits.max_calls:
            raise RouterError(
                f"ranking {len(roster):,} skills takes {needed} calls a turn, and the budget is "
                f"{self.limits.max_calls}; raise max_calls, or use the local judge"
            )

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        """Rank the roster and answer the gate questions; see `Judge.rank`.

        A skill that the model did not name, or that lost its chunk, has probability 0.

        Raises:
            ProposalError: If no proposal was admitted.
        """
        session = self._session()
        return _drive(self._ranking(turn, roster, session), session, "rank")

    async def arank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        """`rank` without blocking the event loop."""
        session = self._session()
        return await _adrive(self._ranking(turn, roster, session), session, "rank")

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """Choose among the candidates and say how well each fits; see `Judge.reread`.

        Raises:
            ProposalError: If no proposal was admitted.
        """
        session = self._session()
        return _drive(self._rereading(turn, candidates, session), session, "reread")

    async def areread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """`reread` without blocking the event loop."""
        session = self._session()
        return await _adrive(self._rereading(turn, candidates, session), session, "reread")

    def _session(self) -> Session:
        return Session(self.limits, admit=self._admit, cancelled=self._cancelled)

    def _ranking(
        self, turn: Turn, roster: Roster, session: Session
    ) -> Generator[Ask[WideProposal], WideProposal, tuple[Ranking, Gate]]:
        bounds = Bounds.of_turn(turn, roster)
        pool: Sequence[Skill] = roster.skills
        recurring = True
        gate = Gate(acts_on_system=0.0, documented_procedure=0.0, prose_suffices=1.0)
        while len(pool) > self.questions.capacity:
            winners: set[str] = set()
            for chunk in _chunks(pool, self.questions.capacity):
                if bounds.asked.isdisjoint(skill.name for skill in chunk):
                    continue
                proposal = yield self.questions.wide(turn, chunk, _within(bounds, chunk), recurring)
                gate = proposal.gate
                winners.update(name for name, p in proposal.ranking[:WINNERS] if p > 0)
            pool = [skill for skill in pool if skill.name in winners]
            recurring = False
        named: tuple[tuple[str, float], ...] = ()
        if not bounds.asked.isdisjoint(skill.name for skill in pool):
            proposal = yield self.questions.wide(turn, pool, _within(bounds, pool), recurring)
            gate, named = proposal.gate, proposal.ranking
        return _ranking(named, roster).model_copy(update={"usage": session.usage}), gate

    def _rereading(
        self, turn: Turn, candidates: Sequence[Skill], session: Session
    ) -> Generator[Ask[Reread], Reread, Reread]:
        bounds = Bounds.of_turn(turn, candidates)
        permitted = [skill for skill in candidates if skill.name in bounds.asked]
        nothing = dict.fromkeys((skill.name for skill in candidates), 0.0)
        if not permitted:
            return Reread(choice={}, fits=nothing)
        reread = yield self.questions.reread(turn, permitted, bounds)
        return Reread(
            choice={**nothing, **reread.choice},
            fits={**nothing, **reread.fits},
            usage=session.usage,
        )


def _drive(steps: Generator[Ask[Value], Value, Answer], session: Session, stage: str) -> Answer:
    try:
        ask = next(steps)
        while True:
            report = session.propose(ask.call, ask.read, ask.meter)
            if report.value is None:
                raise ProposalError(stage, report, session.usage)
            ask = steps.send(report.value)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


async def _adrive(
    steps: Generator[Ask[Value], Value, Answer], session: Session, stage: str
) -> Answer:
    try:
        ask = next(steps)
        while True:
            report = await session.apropose(ask.acall, ask.read, ask.meter)
            if report.value is None:
                raise ProposalError(stage, report, session.usage)
            ask = steps.send(report.value)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def _chunks(pool: Sequence[Skill], capacity: int) -> list[Sequence[Skill]]:
    """Runs of nearly equal length: a chunk of two skills would send both to the next round."""
    count = -(-len(pool) // capacity)
    edges = [len(pool) * i // count for i in range(count + 1)]
    return [pool[edges[i] : edges[i + 1]] for i in range(count)]


def _within(bounds: Bounds, skills: Sequence[Skill]) -> Bounds:
    names = {skill.name for skill in skills}
    return Bounds(
        asked=bounds.asked & names,
        forbidden={name: why for name, why in bounds.forbidden.items() if name in names},
    )


def _ranking(named: Sequence[tuple[str, float]], roster: Roster) -> Ranking:
    """All skills: the named ones scaled to sum to 1, the others 0; all alike when none has any."""
    total = sum(p for _, p in named)
    if total <= 0:
        return Ranking(entries=tuple((name, 1.0 / len(roster)) for name in roster.names))
    first = [(name, min(1.0, p / total)) for name, p in named]
    there = {name for name, _ in named}
    rest = [(name, 0.0) for name in roster.names if name not in there]
    return Ranking(entries=(*first, *rest))
