"""The two stages, and the promise that a turn never breaks because of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Self

from roster import Roster, Skill, is_safe_name
from router.errors import RouterError
from router.judge import Judge
from router.local.encoder import Encoder
from router.local.judge import LocalJudge
from router.local.vectors import Progress
from router.suggestion import Gate, Ranking, Reason, Reread, Suggestion
from router.thresholds import Thresholds
from router.turn import Turn

_log = logging.getLogger(__name__)


class Router:
    """Decides, before a turn, which one skill of a roster the agent should load, if any.

    Safe to share between threads. Setting one up raises on anything wrong; asking it never does.

    Args:
        roster: The skills.
        judge: Answers the two questions.
        thresholds: When to stay silent.
        weights_digest: Names the judge's learned numbers in every suggestion.
    """

    def __init__(
        self,
        roster: Roster,
        judge: Judge,
        thresholds: Thresholds | None = None,
        weights_digest: str = "",
    ) -> None:
        self.roster = roster
        self.judge = judge
        self.thresholds = thresholds or Thresholds()
        self.weights_digest = weights_digest or type(judge).__name__

    @classmethod
    def load(
        cls,
        roster: Roster,
        *,
        judge: Judge | None = None,
        thresholds: Thresholds | str | Path | None = None,
        encoder: str | Encoder | None = None,
        heads: str | Path | None = None,
        cache: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """A router for a roster.

        Args:
            roster: The skills.
            judge: A judge of your own; by default the local one.
            thresholds: Thresholds, or the path of a TOML file; by default those that were chosen
                for the judge by cross-validation.
            encoder: Another encoder for the local judge: "minilm", a folder or a model's name.
            heads: A heads file learned for that encoder.
            cache: Folder of the index cache; by default `SKILL_ROUTER_CACHE`, else the user's.
            progress: Told how many skills are encoded when the index is built.

        Raises:
            RouterError: If anything of the setup is wrong (a file, the encoder, the weights).
        """
        if isinstance(thresholds, str | Path):
            thresholds = Thresholds.from_toml(thresholds)
        if judge is not None:
            return cls(roster, judge, thresholds)
        local = LocalJudge.load(roster, encoder, heads, cache, progress)
        if thresholds is None:
            thresholds = Thresholds.model_validate(
                {**local.heads.thresholds, "weights_digest": local.digest}
            )
        local.excerpt = thresholds.excerpt
        _warn_if_stale(thresholds, roster, local.digest)
        return cls(roster, local, thresholds, local.digest)

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
            turn = _as_turn(request, recent_context, allowed_tools, loaded)
            return self._decide(turn, started)
        except Exception as error:  # the turn must survive whatever a judge raises
            _log.exception("the router failed; the turn goes on without a suggestion")
            return self._suggestion(
                None, Reason.ROUTER_ERROR, started, detail=f"{type(error).__name__}: {error}"[:300]
            )

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
        """`suggest` without blocking the event loop."""
        return await asyncio.to_thread(self.suggest, request, recent_context, allowed_tools, loaded)

    async def asuggest_many(self, turns: Iterable[str | Turn]) -> list[Suggestion]:
        """`suggest_many` without blocking the event loop."""
        return await asyncio.to_thread(self.suggest_many, list(turns))

    def _decide(self, turn: Turn, started: float) -> Suggestion:
        if not turn.request_text:
            return self._suggestion(None, Reason.GATE, started, detail="the request is blank")
        if not len(self.roster):
            return self._suggestion(None, Reason.FITS, started, detail="the roster has no skills")
        ranking, gate = self.judge.rank(turn, self.roster)
        times = {"rank": _ms(started)}
        if gate.need < self.thresholds.gate:
            return self._suggestion(None, Reason.GATE, started, times, ranking, gate)
        shortlist = [self.roster[name] for name in ranking.top(self.thresholds.shortlist)]
        again = perf_counter()
        reread = self.judge.reread(turn, shortlist)
        times["reread"] = _ms(again)
        name, reason, detail = self._verdict(turn, shortlist, reread)
        return self._suggestion(name, reason, started, times, ranking, gate, reread, detail)

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
    ) -> Suggestion:
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
        )


def _as_turn(
    request: str | Turn,
    recent_context: Sequence[str],
    allowed_tools: Iterable[str] | None,
    loaded: Iterable[str],
) -> Turn:
    if isinstance(request, Turn):
        return request
    return Turn(
        request=request,
        recent_context=recent_context,  # type: ignore[arg-type]  # validated by the model
        allowed_tools=None if allowed_tools is None else frozenset(allowed_tools),
        loaded=frozenset(loaded),
    )


def _warn_if_stale(thresholds: Thresholds, roster: Roster, weights_digest: str) -> None:
    """Tuned thresholds are worth nothing on other skills or other weights: say so once, at load."""
    stale = []
    if thresholds.roster_digest not in (None, roster.digest):
        stale.append("roster")
    if thresholds.weights_digest not in (None, weights_digest):
        stale.append("weights")
    if stale:
        _log.warning(
            "the thresholds were tuned on another %s; tune them again with skill-router tune",
            " and other ".join(stale),
        )


def _ms(started: float) -> float:
    return round((perf_counter() - started) * 1000.0, 3)
