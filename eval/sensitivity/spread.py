"""How far equally reasonable variants lie apart.

A variant's score is one draw: beside its spread over variants stands the spread that drawing other
requests would give, and the best variant is measured again on requests it was not chosen on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from eval.data import LabelledTurn
from eval.metrics import Rate, rate
from eval.paired import McNemar, mcnemar
from eval.sensitivity.variants import ORIGINAL, SensitivityError
from eval.tune.choose import grouped_folds
from eval.tune.stages import TuneError


class VariantScore(BaseModel):
    """One variant.

    Attributes:
        name: The variant.
        kind: What it changes.
        correct: Right on covered requests, none on others.
        wrong: Covered requests with another skill or none.
        needless: Uncovered requests with a skill.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    kind: str
    correct: Rate
    wrong: Rate
    needless: Rate


class Spread(BaseModel):
    """Scores over some variants.

    Attributes:
        kind: What they change, or "all".
        variants: How many.
        mean: Mean share of requests decided correctly.
        least: Lowest.
        most: Highest.
        sd: Standard deviation over variants (n - 1); None for one variant.
        case_sd: Standard deviation of the mean score over fresh draws of as many requests,
            the root of p (1 - p) / n.
    """

    model_config = ConfigDict(frozen=True)

    kind: str
    variants: int
    mean: float
    least: float
    most: float
    sd: float | None
    case_sd: float


class Unstable(BaseModel):
    """A request that variants answer differently.

    Attributes:
        text: The request.
        gold: Its skill, or None.
        picks: Each pick ("" for none) and the names of the variants with it.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    gold: str | None
    picks: dict[str, tuple[str, ...]]


class SensitivityReport(BaseModel):
    """Everything `skill-router sensitivity variants` reports.

    Attributes:
        requests: How many.
        scores: One a variant; the original first.
        spreads: Over all variants, then by what they change.
        same_pick: Share of requests on which all variants pick the same.
        same_verdict: Share on which all are correct, or none is.
        best: Name of the best variant.
        worst: Name of the worst.
        best_against_worst: Exact McNemar of the two.
        held_out_best: Share correct when the best variant is chosen on other skills' requests;
            None when there are too few requests to divide.
        held_out_against_original: That choice (first) against the original (second).
        unstable: Requests that are answered differently, the most contested first.
    """

    model_config = ConfigDict(frozen=True)

    requests: int
    scores: tuple[VariantScore, ...]
    spreads: tuple[Spread, ...]
    same_pick: float
    same_verdict: float
    best: str
    worst: str
    best_against_worst: McNemar
    held_out_best: Rate | None
    held_out_against_original: McNemar | None
    unstable: tuple[Unstable, ...]


Picks = Mapping[str, Sequence[str | None]]


def spread_of(correct: NDArray[np.bool_], kind: str = "all") -> Spread:
    """Spread of scores over variants.

    Args:
        correct: Whether each variant decided each request correctly, shape (v, m), m at least 1.
        kind: What the variants change.
    """
    shares = correct.mean(axis=1)
    # Of the counts, not of the shares: rounding could put a mean of equal shares above them.
    mean = float(correct.mean())
    return Spread(
        kind=kind,
        variants=len(shares),
        mean=mean,
        least=float(shares.min()),
        most=float(shares.max()),
        sd=float(shares.std(ddof=1)) if len(shares) > 1 else None,
        case_sd=math.sqrt(mean * (1.0 - mean) / correct.shape[1]),
    )


def compare(
    turns: Sequence[LabelledTurn],
    picks: Picks,
    kinds: Mapping[str, str],
    folds: int = 5,
    seed: int = 0,
) -> SensitivityReport:
    """Compare variants on the same requests.

    Args:
        turns: The labelled turns, at least one.
        picks: Variant to its pick for each turn; `ORIGINAL` is among them.
        kinds: Variant to what it changes.
        folds: Folds of the nested choice of the best variant.
        seed: Seed of the folds.

    Raises:
        SensitivityError: If there are fewer than two variants or a variant lacks picks.
    """
    names = list(picks)
    if len(names) < 2:
        raise SensitivityError("there is one variant only; give --variants or --shuffles")
    if any(len(picks[name]) != len(turns) for name in names):
        raise SensitivityError("a variant has not picked for every request")
    gold = [turn.gold for turn in turns]
    correct = np.array([[p == g for p, g in zip(picks[n], gold, strict=True)] for n in names])
    totals = correct.sum(axis=1)
    best, worst = int(totals.argmax()), int(totals.argmin())
    agree = [len({picks[name][row] for name in names}) == 1 for row in range(len(turns))]
    held = _held_out(turns, correct, folds, seed)
    original = names.index(ORIGINAL)
    return SensitivityReport(
        requests=len(turns),
        scores=tuple(_score(name, kinds[name], turns, picks[name]) for name in names),
        spreads=_spreads(names, kinds, correct),
        same_pick=float(np.mean(agree)),
        same_verdict=float((correct.all(axis=0) | ~correct.any(axis=0)).mean()),
        best=names[best],
        worst=names[worst],
        best_against_worst=mcnemar(correct[best], correct[worst]),
        held_out_best=None if held is None else rate(int(held.sum()), len(held)),
        held_out_against_original=None if held is None else mcnemar(held, correct[original]),
        unstable=_unstable(turns, picks),
    )


def _score(
    name: str, kind: str, turns: Sequence[LabelledTurn], picks: Sequence[str | None]
) -> VariantScore:
    pairs = [(turn.gold, pick) for turn, pick in zip(turns, picks, strict=True)]
    covered = [(gold, pick) for gold, pick in pairs if gold is not None]
    needless = sum(gold is None and pick is not None for gold, pick in pairs)
    return VariantScore(
        name=name,
        kind=kind,
        correct=rate(sum(gold == pick for gold, pick in pairs), len(pairs)),
        wrong=rate(sum(gold != pick for gold, pick in covered), len(covered)),
        needless=rate(needless, len(pairs) - len(covered)),
    )


def _spreads(
    names: Sequence[str], kinds: Mapping[str, str], correct: NDArray[np.bool_]
) -> tuple[Spread, ...]:
    found = [spread_of(correct)]
    for kind in dict.fromkeys(kinds[name] for name in names):
        if kind == ORIGINAL:
            continue
        # The original belongs to each kind: it is one of its wordings, or one of its orders.
        rows = [row for row, name in enumerate(names) if kinds[name] in (kind, ORIGINAL)]
        if len(rows) < len(names):
            found.append(spread_of(correct[rows], kind))
    return tuple(found)


def _held_out(
    turns: Sequence[LabelledTurn], correct: NDArray[np.bool_], folds: int, seed: int
) -> NDArray[np.bool_] | None:
    """Whether each turn is decided correctly by the variant that is best on other skills' turns."""
    try:
        parts = grouped_folds(turns, folds, seed)
    except TuneError:
        return None
    total = correct.sum(axis=1)
    held = np.zeros(len(turns), dtype=np.bool_)
    for fold in parts:
        best = int((total - correct[:, fold].sum(axis=1)).argmax())
        held[fold] = correct[best, fold]
    return held


def _unstable(turns: Sequence[LabelledTurn], picks: Picks) -> tuple[Unstable, ...]:
    found: list[tuple[int, Unstable]] = []
    for row, turn in enumerate(turns):
        said: dict[str, list[str]] = {}
        for name, picked in picks.items():
            said.setdefault(picked[row] or "", []).append(name)
        if len(said) > 1:
            majority = max(len(names) for names in said.values())
            groups = {pick: tuple(names) for pick, names in said.items()}
            found.append((majority, Unstable(text=turn.text, gold=turn.gold, picks=groups)))
    return tuple(unstable for _, unstable in sorted(found, key=lambda item: item[0]))
