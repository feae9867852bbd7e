"""The two stages, and the promise that a turn never breaks because of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Self

from roster import Roster, Skill, is_safe_name
from roster.suspicion import Defended, Quarantine
from router.block import BlockTemplate
from router.errors import RouterError
from router.index import inspections
from router.judge import AsyncJudge, Judge
from router.local.encoder import Encoder
from router.local.heads import Heads
from router.local.judge import LocalJudge
from router.local.pair_scorer import PairScorer
from router.local.vectors import Progress
from router.proposals.errors import ProposalError
from router.proposals.within import LateError, await_within, call_within
from router.suggestion import (
    MOST_QUARANTINED,
    Gate,
    Ranking,
    Reason,
    Reread,
    Suggestion,
)
from router.thresholds import Thresholds, warn_if_stale
from router.turn import Turn, as_turn
from router.usage import Usage

if TYPE_CHECKING:
    from router.cascade import Cascade
    from router.judges import JudgeName, JudgeSetup

_log = logging.getLogger(__name__)

_Question = Sequence[Skill] | None
_Answer = tuple[Ranking, Gate] | Reread


class Router:
    """Decides, before a turn, which one skill of a roster the agent should load, if any.

    Safe to share between threads. Setting one up raises on anything wrong; asking it never does.

    Args:
        roster: The skills.
        judge: Answers the two questions.
        thresholds: When to stay silent.
        weights_digest: Names the judge's learned numbers in every suggestion.
        cascade: Asks a second judge where this one is unsure; None asks nobody.
        deadline_s: Seconds a turn may take; then there is no suggestion, or with a cascade the
            local judge's. None waits.
        defended: What a quarantine leaves of the roster; None takes all of it. The judge then ranks
            `defended.roster` alone.

    Attributes:
        roster: The skills as they were given.
        eligible: Those that the judge ranks, as it reads them.
        held: Why the others are never suggested, by name.
    """

    def __init__(
        self,
        roster: Roster,
        judge: Judge,
        thresholds: Thresholds | None = None,
        weights_digest: str = "",
        *,
        cascade: Cascade | None = None,
        deadline_s: float | None = None,
        defended: Defended | None = None,
    ) -> None:
        if deadline_s is not None and not 0 < deadline_s < float("inf"):
            raise RouterError(f"deadline_s must be a positive number of seconds, not {deadline_s}")
        self.roster = roster
        self.eligible, self.held = defended or Defended(roster, {})
        self.judge = judge
        self.thresholds = thresholds or Thresholds()
        self.weights_digest = weights_digest or type(judge).__name__
        self.template = BlockTemplate()
        self.cascade = cascade
        self.deadline_s = deadline_s

    @classmethod
    def load(
        cls,
        roster: Roster,
        *,
        judge: Judge | JudgeName | None = None,
        setup: JudgeSetup | None = None,
        deadline_s: float | None = None,
        thresholds: Thresholds | str | Path | None = None,
        encoder: str | Encoder | None = None,
        heads: str | Path | Heads | None = None,
        reranker: str | PairScorer | None = None,
        index: str | None = None,
        cache: str | Path | None = None,
        progress: Progress | None = None,
        profile: str | None = None,
        store: str | Path | None = None,
        quarantine: Quarantine | str | Path | None = None,
        requests_digest: str | None = None,
    ) -> Self:
        """A router for a roster.

        Args:
            roster: The skills.
            judge: "local" (the default), "claude", "systemone" or "cascade"; or a judge of your
                own.
            setup: Which model "claude", "systemone" or "cascade" asks, and how.
            deadline_s: Seconds a turn may take; a slower one gets no suggestion. None waits.
            thresholds: Thresholds, or the path of a TOML file; by default those that were chosen
                for the local judge by cross-validation, for any other judge `Thresholds()`.
            encoder: Another encoder for the local judge: "minilm", a folder or a model's name.
            heads: A heads file learned for that encoder.
            reranker: Another pair scorer for the local judge's reread: a folder or name of a
                CrossEncoder that the heads were learned with; "none" for none.
            index: What finds the candidates of a roster of more than 2,000 skills: "exact" (the
                default there) or "milvus:URI"; see `router.index.load.load_pool`.
            cache: Folder of the index cache; by default `SKILL_ROUTER_CACHE`, else the user's.
            progress: Told how many skills are encoded when the index is built.
            profile: "active", or the name of an active profile: thresholds, weights and template
                that were evaluated together on this roster. It excludes `judge`, `thresholds` and
                `heads`.
            store: The store of the profile; by default the user's.
            quarantine: Which skills are never eligible: a quarantine, a suspicion level, the path
                of a TOML file, or "off"; by default `SKILL_ROUTER_QUARANTINE`, else the level 0.8.
            requests_digest: Digest of your labelled requests (`eval.data.requests_digest`). As with
                roster and weights, a warning is logged when the thresholds were tuned on others.

        Raises:
            RouterError: If anything of the setup is wrong (a file, the encoder, the weights).
        """
        if not isinstance(roster, Roster):
            raise RouterError(
                f"a router takes a Roster, not {type(roster).__name__}; Roster.from_path(path) "
                "reads a folder of skills or a JSON file"
            )
        template = BlockTemplate()
        if profile is not None:
            if any(value is not None for value in (judge, thresholds, heads)):
                raise RouterError(
                    "a profile brings its own judge, thresholds and heads; give either the profile "
                    "or those"
                )
            from router.profile import load_profile

            loaded = load_profile(profile, roster, store)
            template, heads = loaded.profile.template, loaded.heads
            thresholds = loaded.profile.thresholds
        defended = _defended(roster, quarantine, cache)
        eligible = defended.roster
        if judge is not None and judge not in ("local", "cascade"):
            if isinstance(thresholds, str | Path):
                thresholds = Thresholds.from_toml(thresholds)
            from router.judges import make_judge

            made = make_judge(judge, eligible, thresholds or Thresholds(), setup)
            digest = getattr(made, "digest", "")
            router = cls(roster, made, thresholds, digest, deadline_s=deadline_s, defended=defended)
            tuned = router.thresholds
            warn_if_stale(tuned, router.roster.digest, router.weights_digest, requests_digest)
            return router
        if isinstance(thresholds, str | Path):
            Thresholds.from_toml(thresholds)  # a wrong file should not cost an index first
        local = LocalJudge.load(eligible, encoder, heads, cache, progress, reranker, index)
        if isinstance(thresholds, str | Path):
            thresholds = Thresholds.from_toml(thresholds, local.thresholds)
        if thresholds is None:
            thresholds = Thresholds.model_validate(
                {**local.thresholds, "weights_digest": local.digest}
            )
        local.excerpt = thresholds.excerpt
        warn_if_stale(thresholds, roster.digest, local.digest, requests_digest)
        cascade = None
        if judge == "cascade":
            from router.judges import make_cascade

            cascade = make_cascade(eligible, setup)
        router = cls(
            roster,
            local,
            thresholds,
            local.digest,
            cascade=cascade,
            deadline_s=deadline_s,
            defended=defended,
        )
        router.template = template
        return router

    def suggest(
        self,
        request: str | Turn,
        recent_context: Sequence[str] = (),
        allowed_tools: Iterable[str] | None = None,
        loaded: Iterable[str] = (),
    ) -> Suggestion:
        """At most one skill for a turn.

        Args:
            request: The user's newest message, or a whole `Turn` (then the rest is not read).
            recent_context: Earlier messages, oldest first.
            allowed_tools: Tools the agent may use this turn; None when unknown.
            loaded: Skills the session has loaded already.

        Returns:
            The suggestion. Whatever fails, it is one with reason ``router_error``, never an
            exception; the failure is logged.
        """
        started = perf_counter()
        try:
            turn = as_turn(request, recent_context, allowed_tools, loaded)
            suggestion = call_within(lambda: self._decide(turn, started), self.deadline_s)
        except Exception as error:  # the turn must survive whatever a judge raises
            return self._failed(error, started)
        if self.cascade is None or suggestion.reason is Reason.ROUTER_ERROR:
            return suggestion
        left, look = self._left(started), partial(self.read_anyway, turn)
        return _timed(self.cascade.settle(turn, suggestion, left, look), started)

    def suggest_many(self, turns: Iterable[str | Turn]) -> list[Suggestion]:
        """Suggestions for several turns, in their order."""
        return [self.suggest(turn) for turn in turns]

    async def asuggest(
        self,
        request: str | Turn,
        recent_context: Sequence[str] = (),
        allowed_tools: Iterable[str] | None = None,
        loaded: Iterable[str] = (),
    ) -> Suggestion:
        """`suggest` without blocking the event loop.

        A judge that is asynchronous itself is awaited; any other works in a thread.
        """
        started = perf_counter()
        try:
            turn = as_turn(request, recent_context, allowed_tools, loaded)
            suggestion = await await_within(lambda: self._adecide(turn, started), self.deadline_s)
        except Exception as error:  # the turn must survive whatever a judge raises
            return self._failed(error, started)
        if self.cascade is None or suggestion.reason is Reason.ROUTER_ERROR:
            return suggestion
        left, look = self._left(started), partial(self.read_anyway, turn)
        return _timed(await self.cascade.asettle(turn, suggestion, left, look), started)

    async def asuggest_many(self, turns: Iterable[str | Turn]) -> list[Suggestion]:
        """`suggest_many` without blocking the event loop."""
        if isinstance(self.judge, AsyncJudge) or self.cascade is not None:
            return [await self.asuggest(turn) for turn in turns]
        return await asyncio.to_thread(self.suggest_many, list(turns))

    def read_anyway(self, turn: Turn, suggestion: Suggestion) -> Suggestion:
        """A suggestion with the reread that its closed gate left out: evidence for a cascade.

        Only the local judge is asked, for it costs milliseconds; a suggestion of any other judge,
        and one with its reread, is returned as it is.
        """
        if suggestion.reason is not Reason.GATE or suggestion.gate is None:
            return suggestion
        if not isinstance(self.judge, LocalJudge):
            return suggestion
        names = suggestion.ranking.top(self.thresholds.shortlist)
        reread = self.judge.reread(turn, [self.eligible[name] for name in names])
        return suggestion.model_copy(update={"reread": reread})

    def _left(self, started: float) -> float | None:
        """Seconds of the deadline that a turn has not used yet; None without a deadline."""
        return None if self.deadline_s is None else started + self.deadline_s - perf_counter()

    def _decide(self, turn: Turn, started: float) -> Suggestion:
        steps = self._steps(turn, started)
        try:
            question = next(steps)
            while True:
                try:
                    answer: _Answer = (
                        self.judge.rank(turn, self.eligible)
                        if question is None
                        else self.judge.reread(turn, question)
                    )
                except Exception as error:
                    question = steps.throw(error)
                else:
                    question = steps.send(answer)
        except StopIteration as end:
            suggestion: Suggestion = end.value
            return suggestion

    async def _adecide(self, turn: Turn, started: float) -> Suggestion:
        judge = self.judge
        if not isinstance(judge, AsyncJudge):
            return await asyncio.to_thread(self._decide, turn, started)
        steps = self._steps(turn, started)
        try:
            question = next(steps)
            while True:
                try:
                    answer: _Answer = (
                        await judge.arank(turn, self.eligible)
                        if question is None
                        else await judge.areread(turn, question)
                    )
                except Exception as error:
                    question = steps.throw(error)
                else:
                    question = steps.send(answer)
        except StopIteration as end:
            suggestion: Suggestion = end.value
            return suggestion

    def _steps(self, turn: Turn, started: float) -> Generator[_Question, _Answer, Suggestion]:
        """The flow of a turn, whoever waits for the judge: yields None for the rank, the
        candidates for the reread."""
        if not turn.request_text:
            return self._suggestion(None, Reason.GATE, started, detail="the request is blank")
        if not len(self.eligible):
            return self._suggestion(None, Reason.FITS, started, detail="the roster has no skills")
        answer = yield None
        assert isinstance(answer, tuple)
        ranking, gate = answer
        times = {"rank": _ms(started)}
        if gate.need < self.thresholds.gate:
            return self._suggestion(None, Reason.GATE, started, times, ranking, gate)
        shortlist = [self.eligible[name] for name in ranking.top(self.thresholds.shortlist)]
        again = perf_counter()
        try:
            reread = yield shortlist
        except Exception as error:  # what the first stage found and cost is kept
            return self._failed(error, started, times, ranking, gate)
        assert isinstance(reread, Reread)
        times["reread"] = _ms(again)
        name, reason, detail = self._verdict(turn, shortlist, reread)
        return self._suggestion(name, reason, started, times, ranking, gate, reread, detail)

    def _failed(
        self,
        error: Exception,
        started: float,
        times: dict[str, float] | None = None,
        ranking: Ranking | None = None,
        gate: Gate | None = None,
    ) -> Suggestion:
        """The suggestion of a turn on which the judge gave up, crashed or was too slow."""
        usage: dict[str, Usage] = {}
        if isinstance(error, ProposalError):
            _log.warning("no suggestion: %s", error)
            detail, usage = str(error), {error.stage: error.usage}
        elif isinstance(error, LateError):
            _log.warning("no suggestion: the router took longer than %s s", self.deadline_s)
            detail = f"timeout: no decision within {self.deadline_s} s"
        else:
            _log.error("the router failed; the turn goes on without a suggestion", exc_info=error)
            detail = f"{type(error).__name__}: {error}"
        return self._suggestion(
            None,
            Reason.ROUTER_ERROR,
            started,
            times,
            ranking,
            gate,
            detail=detail[:300],
            usage=usage,
        )

    def _verdict(
        self, turn: Turn, shortlist: Sequence[Skill], reread: Reread
    ) -> tuple[str | None, Reason, str | None]:
        fits = reread.fits
        if not fits or max(fits.values()) < self.thresholds.fit:
            return None, Reason.FITS, None
        listed = {skill.name: skill for skill in shortlist}
        winner = max(reread.choice or fits, key=lambda name: (reread.choice or fits)[name])
        skill = listed.get(winner)
        if skill is None or not is_safe_name(winner):
            raise RouterError(f"the judge chose {winner[:80]!r}, which is not on the shortlist")
        if winner in turn.loaded:
            return None, Reason.ALREADY_LOADED, f"{winner} is loaded already"
        if turn.allowed_tools is not None:
            missing = sorted(set(skill.requires) - turn.allowed_tools)
            if missing:
                return None, Reason.INELIGIBLE, f"{winner} requires {', '.join(missing)}"
        return winner, Reason.SUGGESTED, None

    def _suggestion(
        self,
        name: str | None,
        reason: Reason,
        started: float,
        times: dict[str, float] | None = None,
        ranking: Ranking | None = None,
        gate: Gate | None = None,
        reread: Reread | None = None,
        detail: str | None = None,
        usage: dict[str, Usage] | None = None,
    ) -> Suggestion:
        spent = {
            "rank": ranking.usage if ranking is not None else None,
            "reread": reread.usage if reread is not None else None,
            **(usage or {}),
        }
        return Suggestion(
            name=name,
            reason=reason,
            ranking=ranking or Ranking(),
            gate=gate,
            reread=reread,
            thresholds_gate=self.thresholds.gate,
            thresholds_fit=self.thresholds.fit,
            roster_digest=self.roster.digest,
            thresholds_digest=self.thresholds.digest,
            weights_digest=self.weights_digest,
            elapsed_ms={**(times or {}), "total": _ms(started)},
            detail=detail,
            usage={stage: one for stage, one in spent.items() if one is not None},
            quarantined=dict(islice(self.held.items(), MOST_QUARANTINED)),
        )


def _defended(
    roster: Roster, quarantine: Quarantine | str | Path | None, cache: str | Path | None
) -> Defended:
    defended = inspections.defended(roster, Quarantine.of(quarantine), cache)
    for name, reason in islice(defended.held.items(), MOST_QUARANTINED):
        _log.warning("%s is quarantined and never suggested: %s", name, reason[:300])
    if len(defended.held) > MOST_QUARANTINED:
        _log.warning("%d skills are quarantined in all", len(defended.held))
    return defended


def _timed(suggestion: Suggestion, started: float) -> Suggestion:
    times = {**suggestion.elapsed_ms, "total": _ms(started)}
    return suggestion.model_copy(update={"elapsed_ms": times})


def _ms(started: float) -> float:
    return round((perf_counter() - started) * 1000.0, 3)
