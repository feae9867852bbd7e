"""What the two stages said about every labelled turn, kept so that no threshold asks again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from eval.data import LabelledTurn, requests_digest
from roster.suspicion import Defended
from router.pipeline import Router
from router.suggestion import Suggestion
from router.thresholds import Thresholds

Progress = Callable[[int, int], None]

PROBED = 12
"""Turns that are reread with two excerpts to see whether the judge reads them at all."""


class TuneError(ValueError):
    """Tuning cannot be done as asked; the message names the cause and the remedy."""


@dataclass(frozen=True)
class StageOutputs:
    """Stage outputs of m labelled turns, shortlists of up to k candidates, e excerpts.

    A shorter shortlist is the first part of the longest one, with the choice among that part: a
    judge whose fits stand for themselves says the same of it. `disagreements` checks that.

    Attributes:
        turns: The labelled turns.
        need: `Gate.need`, shape (m,).
        fits: Fit of each candidate in the order of the wide rank, shape (e, m, k); -1 pads.
        choice: Choice probability of each, shape (e, m, k); -1 pads.
        right: Which candidate is the right skill, shape (m,); -1 when none is.
        names: Names of the candidates of each turn.
        excerpts: Excerpt, in characters, of each layer.
        excerpt_matters: Whether the excerpt was varied, and the judge's answers with it.
        roster_digest: Digest of the roster.
        weights_digest: Digest of the judge's learned numbers.
    """

    turns: tuple[LabelledTurn, ...]
    need: NDArray[np.float64]
    fits: NDArray[np.float64]
    choice: NDArray[np.float64]
    right: NDArray[np.int64]
    names: tuple[tuple[str, ...], ...]
    excerpts: tuple[int, ...]
    excerpt_matters: bool
    roster_digest: str
    weights_digest: str

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether a skill fits, shape (m,)."""
        return np.array([turn.covered for turn in self.turns], dtype=np.bool_)

    @property
    def requests_digest(self) -> str:
        """Digest of the labelled turns."""
        return requests_digest(self.turns)

    @property
    def deepest(self) -> int:
        """Candidates of the longest shortlist."""
        return int(self.fits.shape[2])

    def layer(self, excerpt: int) -> int:
        """Where the outputs of an excerpt lie.

        Raises:
            TuneError: If they were not collected.
        """
        if not self.excerpt_matters:
            return 0
        if excerpt not in self.excerpts:
            raise TuneError(f"there are no stage outputs for an excerpt of {excerpt} characters")
        return self.excerpts.index(excerpt)

    def verdicts(
        self, shortlist: int, excerpt: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Best fit of each turn's shortlist, whether its choice is the right skill; both (m,)."""
        layer = self.layer(excerpt)
        picked = self.choice[layer, :, :shortlist].argmax(axis=1)
        return self.fits[layer, :, :shortlist].max(axis=1), (picked == self.right) & self.covered

    def picks(self, thresholds: Thresholds) -> list[str | None]:
        """What a router with these thresholds would suggest for each turn."""
        layer = self.layer(thresholds.excerpt)
        best, _ = self.verdicts(thresholds.shortlist, thresholds.excerpt)
        picked = self.choice[layer, :, : thresholds.shortlist].argmax(axis=1)
        speaks = (self.need >= thresholds.gate) & (best >= thresholds.fit)
        return [
            names[at] if speaks[row] else None
            for row, (names, at) in enumerate(zip(self.names, picked, strict=True))
        ]


def collect(
    router: Router,
    turns: Sequence[LabelledTurn],
    shortlist: int,
    excerpts: Sequence[int],
    progress: Progress | None = None,
) -> StageOutputs:
    """Ask both stages about every turn, once per excerpt.

    Args:
        router: The router; its thresholds do not count.
        turns: Labelled turns, at least one.
        shortlist: Longest shortlist, 1..50.
        excerpts: Excerpts in characters. Only the first one is collected when the judge's excerpt
            cannot be set (see `ReadsExcerpt`), or when it answers some turns alike with the least
            and the largest.
        progress: Told how many turns are done.

    Raises:
        TuneError: If a stage fails for a turn: numbers without it would mislead.
    """
    if not len(router.eligible):
        raise TuneError("the roster has no skills; give one with --roster")
    excerpts = tuple(dict.fromkeys(excerpts))
    settable = isinstance(router.judge, ReadsExcerpt) and len(excerpts) > 1
    matters = settable and _reads_excerpt(router, turns, shortlist, excerpts)
    if not matters:
        excerpts = excerpts[:1]
    routers = [_open(router, shortlist, excerpt) for excerpt in excerpts]
    asked: list[list[Suggestion]] = [[] for _ in routers]
    for done, turn in enumerate(turns, start=1):
        # All excerpts of a turn in a row: the local judge remembers what it encoded lately.
        for layer, open_router in enumerate(routers):
            asked[layer].append(_both_stages(open_router, turn))
        if progress is not None:
            progress(done, len(turns))
    return _outputs(router, turns, asked, shortlist, excerpts, matters)


def past_the_gate(
    router: Router, turns: Sequence[LabelledTurn], suggestions: Sequence[Suggestion]
) -> StageOutputs:
    """Stage outputs from answers given already, for a judge that is not to be asked twice.

    Args:
        router: The router that answered.
        turns: Labelled turns, at least one.
        suggestions: Its answers to them. Where it was silent at the gate there are no fits, and
            where it failed neither those nor a need: such a turn is silent at every point.
    """
    used = router.thresholds
    return _outputs(router, turns, [suggestions], used.shortlist, (used.excerpt,), False)


def _outputs(
    router: Router,
    turns: Sequence[LabelledTurn],
    asked: Sequence[Sequence[Suggestion]],
    shortlist: int,
    excerpts: tuple[int, ...],
    matters: bool,
) -> StageOutputs:
    first = asked[0]
    names = tuple(suggestion.ranking.top(shortlist) for suggestion in first)
    width = max(1, *(len(found) for found in names))
    fits = np.full((len(excerpts), len(turns), width), -1.0)
    choice = np.full_like(fits, -1.0)
    for layer, suggestions in enumerate(asked):
        for row, suggestion in enumerate(suggestions):
            reread = suggestion.reread
            if reread is None:
                continue
            for place, name in enumerate(names[row]):
                fits[layer, row, place] = reread.fits.get(name, -1.0)
                choice[layer, row, place] = (reread.choice or reread.fits).get(name, -1.0)
    return StageOutputs(
        turns=tuple(turns),
        need=np.array([s.gate.need if s.gate is not None else 0.0 for s in first]),
        fits=fits,
        choice=choice,
        right=np.array(
            [
                found.index(turn.gold) if turn.gold in found else -1
                for found, turn in zip(names, turns, strict=True)
            ],
            dtype=np.int64,
        ),
        names=names,
        excerpts=excerpts,
        excerpt_matters=matters,
        roster_digest=router.roster.digest,
        weights_digest=router.weights_digest,
    )


def disagreements(outputs: StageOutputs, router: Router, thresholds: Thresholds) -> int:
    """How many turns a router with these thresholds decides otherwise than the stored outputs."""
    real = with_thresholds(router, thresholds)
    names = [real.suggest(turn.turn()).name for turn in outputs.turns]
    return sum(a != b for a, b in zip(names, outputs.picks(thresholds), strict=True))


def subset(outputs: StageOutputs, rows: NDArray[np.int64]) -> StageOutputs:
    """The stage outputs of some turns, shape of `rows` (r,)."""
    return replace(
        outputs,
        turns=tuple(outputs.turns[row] for row in rows),
        need=outputs.need[rows],
        fits=outputs.fits[:, rows],
        choice=outputs.choice[:, rows],
        right=outputs.right[rows],
        names=tuple(outputs.names[row] for row in rows),
    )


@runtime_checkable
class ReadsExcerpt(Protocol):
    """A judge whose reread sees a set number of characters of a body."""

    excerpt: int


def with_thresholds(router: Router, thresholds: Thresholds) -> Router:
    """The same router with other thresholds, its judge reading the excerpt they name."""
    judge = router.judge
    if isinstance(judge, ReadsExcerpt) and judge.excerpt != thresholds.excerpt:
        # A shallow copy: index, weights and what was encoded lately are shared.
        judge = copy.copy(judge)
        judge.excerpt = thresholds.excerpt
    defended = Defended(router.eligible, router.held)
    return Router(router.roster, judge, thresholds, router.weights_digest, defended=defended)


def _open(router: Router, shortlist: int, excerpt: int) -> Router:
    """The same router, silent never: every turn passes through both stages."""
    return with_thresholds(
        router, Thresholds(gate=0.0, fit=0.0, shortlist=shortlist, excerpt=excerpt)
    )


def _both_stages(router: Router, turn: LabelledTurn) -> Suggestion:
    suggestion = router.suggest(turn.turn())
    if suggestion.gate is None or suggestion.reread is None:
        raise TuneError(
            f"the router gave no answer for the request {turn.text[:60]!r} "
            f"({suggestion.detail or suggestion.reason.value}); mend the judge and tune again"
        )
    return suggestion


def _reads_excerpt(
    router: Router, turns: Sequence[LabelledTurn], shortlist: int, excerpts: Sequence[int]
) -> bool:
    least = _open(router, shortlist, min(excerpts))
    most = _open(router, shortlist, max(excerpts))
    for turn in turns[:: max(1, len(turns) // PROBED)][:PROBED]:
        if _both_stages(least, turn).reread != _both_stages(most, turn).reread:
            return True
    return False
