"""What the heads reach on rosters they were not learned on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eval.train.fits import FitExamples, fit_examples, joined, learn_fits
from eval.train.fusion import learn_fusion
from eval.train.gate import GateExamples, learn_gate
from eval.train.prepare import Prepared
from router.local.features import FIT_NAMES, PAIR_NAMES, pair_features, wide_features
from router.local.heads import Linear
from router.local.pair_scorer import PairScorer

FOLDS = 5
"""Parts of the rosters, each left out once."""


@dataclass(frozen=True)
class HeldOut:
    """Answers of heads for turns of rosters they never saw, one row a turn of a full roster.

    Attributes:
        need: Gate need, shape (m,).
        rank: Place of the right skill in the wide rank, 0 the best; -1 when none fits.
        fits: Calibrated fit of each of the best candidates, in wide order, shape (m, c), -1 pads.
        right: Which candidate is the right skill, -1 when it is not among them, shape (m,).
        covered: Whether a skill fits, shape (m,).
        kinds: Kind of each turn.
    """

    need: NDArray[np.float64]
    rank: NDArray[np.int64]
    fits: NDArray[np.float64]
    right: NDArray[np.int64]
    covered: NDArray[np.bool_]
    kinds: NDArray[np.str_]


@dataclass(frozen=True)
class Outcome:
    """Shares at one choice of thresholds: of covered turns `right`, `wrong`, `silent`; of
    uncovered ones `needless`."""

    right: float
    wrong: float
    silent: float
    needless: float


def outcome(held: HeldOut, gate: float, fit: float, shortlist: int) -> Outcome:
    """Apply thresholds to held-out answers."""
    fits = held.fits[:, :shortlist]
    best = fits.argmax(axis=1)
    speaks = (held.need >= gate) & (fits.max(axis=1) >= fit)
    hit = speaks & (best == held.right) & held.covered
    covered = max(int(held.covered.sum()), 1)
    right = float(hit.sum()) / covered
    spoken = float((speaks & held.covered).sum()) / covered
    needless = float((speaks & ~held.covered).sum()) / max(int((~held.covered).sum()), 1)
    return Outcome(right, spoken - right, 1.0 - spoken, needless)


def folds(groups: Sequence[str], count: int) -> list[list[str]]:
    """Groups divided into `count` parts of similar size, deterministically."""
    names = sorted(set(groups))
    return [names[i::count] for i in range(min(count, len(names)))]


@dataclass(frozen=True)
class Stacked:
    """First-level answers for every turn, from heads that never saw its roster.

    Attributes:
        examples: Candidates of all turns.
        groups: Group of each row of `examples`, shape (r,).
        full: Whether each turn belongs to a full roster, shape (m,).
        held: Held-out answers of all turns; its fits are still empty.
    """

    examples: FitExamples
    groups: NDArray[np.str_]
    full: NDArray[np.bool_]
    held: HeldOut


def stack(
    prepared: Sequence[Prepared],
    gates: dict[str, GateExamples],
    count: int = FOLDS,
    scorers: Mapping[str, PairScorer] | None = None,
    report: Callable[[str], None] | None = None,
) -> Stacked:
    """Gate and fusion learned on all rosters but some, applied to those, in turn.

    Args:
        prepared: Full and thinned rosters with their signals.
        gates: Gate examples by group; a group without a roster is always learned on.
        count: Number of folds; no roster is ever in two.
        scorers: Pair scorer of each group, if one is to take part in the reread.
        report: Told after each group.

    Returns:
        What the fits are learned from: gate answers as uncertain as they will be in use.
    """
    full_seen: set[str] = set()
    parts: list[FitExamples] = []
    rows: dict[str, list[NDArray[np.generic]]] = {k: [] for k in ("group", "full", "need", "rank")}
    turns = 0
    in_order: list[Prepared] = []
    groups = len({one.group for one in prepared})
    for names in folds([one.group for one in prepared], count):
        gate = learn_gate(GateExamples.joined([g for n, g in gates.items() if n not in names]))
        fusion = learn_fusion([one for one in prepared if one.group not in names])
        for one in (one for one in prepared if one.group in names):
            part = fit_examples([one], fusion, gate, scorers)
            in_order.append(one)
            parts.append(replace(part, turn=part.turn + turns))
            turns += len(one.turns)
            rows["group"].append(np.full(len(part.labels), one.group))
            rows["full"].append(np.full(len(one.turns), one.group not in full_seen))
            full_seen.add(one.group)
            rows["need"].append(np.array([_need(gate(vector)) for vector in one.vectors]))
            rows["rank"].append(_ranks(one, fusion))
            if report is not None and bool(rows["full"][-1][0]):
                report(f"shortlists {len(full_seen)}/{groups}: {one.group}")
    empty = np.zeros((turns, 0))
    held = HeldOut(
        need=np.concatenate(rows["need"]),
        rank=np.concatenate(rows["rank"]),
        fits=empty,
        right=np.full(turns, -1),
        covered=np.concatenate([one.gold >= 0 for one in in_order]),
        kinds=np.array([turn.group for one in in_order for turn in one.turns]),
    )
    return Stacked(joined(parts), np.concatenate(rows["group"]), np.concatenate(rows["full"]), held)


def cross_validate(
    examples: FitExamples,
    groups: NDArray[np.str_],
    count: int = FOLDS,
    seed: int = 0,
    columns: tuple[str, ...] = FIT_NAMES,
) -> NDArray[np.float32]:
    """Uncalibrated fit logits of every candidate, from fits that never saw its roster.

    Args:
        examples: The candidates.
        groups: Group of each, shape (r,).
        count: Number of folds.
        seed: Seed of the trees.
        columns: Names of the features.
    """
    logits = np.zeros(len(examples.labels), dtype=np.float32)
    for names in folds(groups.tolist(), count):
        outside = np.isin(groups, names)
        head = learn_fits(examples.where(~outside), seed, columns=columns)
        logits[outside] = head.logits(examples.features[outside])
    return logits


def read_examples(
    stacked: Stacked, logits: NDArray[np.float32]
) -> tuple[FitExamples, NDArray[np.str_]]:
    """The candidates that the pair scorer has read, with what it adds, and their groups.

    Args:
        stacked: Candidates of all turns, some read by a pair scorer.
        logits: Calibrated held-out logits of the fits without it, shape (r,).
    """
    read = ~np.isnan(stacked.examples.pairs)
    examples = stacked.examples.where(read)
    kept = logits[read]
    added = np.zeros((len(kept), len(PAIR_NAMES)), dtype=np.float32)
    starts = np.flatnonzero(np.diff(examples.turn, prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(kept)], strict=True):
        added[start:end] = pair_features(examples.pairs[start:end], kept[start:end])
    features = np.concatenate([examples.features, added], axis=1)
    return replace(examples, features=features), stacked.groups[read]


def answers(stacked: Stacked, examples: FitExamples, logits: NDArray[np.float32]) -> HeldOut:
    """Held-out answers for the turns of full rosters, their fits from calibrated logits."""
    held = stacked.held
    turns = len(held.need)
    starts = np.searchsorted(examples.turn, np.arange(turns))
    place = np.arange(len(examples.turn)) - starts[examples.turn]
    fits = np.full((turns, int(place.max()) + 1), -1.0)
    fits[examples.turn, place] = 1.0 / (1.0 + np.exp(-logits))
    right = np.full(turns, -1)
    right[examples.turn[examples.labels]] = place[examples.labels]
    keep = stacked.full
    return HeldOut(
        held.need[keep], held.rank[keep], fits[keep], right[keep], held.covered[keep],
        held.kinds[keep],
    )  # fmt: skip


def _need(gate: NDArray[np.float32]) -> float:
    return float((gate[0] + gate[1] + 1.0 - gate[2]) / 3.0)


def _ranks(one: Prepared, fusion: Linear) -> NDArray[np.int64]:
    ranks = np.full(len(one.turns), -1, dtype=np.int64)
    for i, (signals, gold) in enumerate(zip(one.signals, one.gold, strict=True)):
        if gold >= 0:
            logits = fusion(wide_features(signals.matrix))
            ranks[i] = int((logits > logits[gold]).sum())
    return ranks
