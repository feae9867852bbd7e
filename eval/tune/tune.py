"""From stored stage outputs to thresholds that can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from eval.paired import grouped_sign_flip, mcnemar
from eval.tune.choose import best_point, decide, grouped_folds, nested, skill_groups
from eval.tune.objective import Objective
from eval.tune.result import FrontPoint, Scores, TuneResult, judge_gain
from eval.tune.stages import StageOutputs, TuneError
from eval.tune.sweep import Counts, Grid, sweep
from router.thresholds import Thresholds

SHORTLISTS = (1, 2, 3, 4, 5, 8, 10)
"""Sizes that are tried by default; the local judge reads up to ten candidates side by side."""


def tune(
    outputs: StageOutputs,
    current: Thresholds,
    objective: Objective,
    *,
    shortlists: Sequence[int] = SHORTLISTS,
    step: float = 0.01,
    folds: int = 5,
    seed: int = 0,
) -> TuneResult:
    """Choose thresholds, and measure the choice on requests it was not made on.

    Args:
        outputs: Stage outputs of covered and uncovered turns.
        current: The thresholds in use, which the choice is compared with.
        objective: What is made small.
        shortlists: Sizes of the shortlist to try.
        step: Distance of neighbouring thresholds.
        folds: Folds of the nested choice; no skill is in two.
        seed: Seed of the folds and of the paired test.

    Returns:
        The result. Its held-out scores come from thresholds chosen on other skills' requests.

    Raises:
        TuneError: If there are too few skills for the folds, or no thresholds keep the bound.
    """
    parts = grouped_folds(outputs.turns, folds, seed)
    grid = Grid.around(current, outputs, shortlists, step)
    started = perf_counter()
    counts = sweep(outputs, grid)
    sweep_ms = (perf_counter() - started) * 1000.0
    if not np.isfinite(objective.losses(counts)).any():
        least = float(counts.needless.min()) / counts.uncovered
        raise TuneError(
            f"no thresholds keep {objective}; the least share that can be had is {least:.1%}"
        )
    best = grid.at(best_point(counts, objective))
    chosen = best.model_copy(
        update={
            "roster_digest": outputs.roster_digest,
            "weights_digest": outputs.weights_digest,
            "requests_digest": outputs.requests_digest,
        }
    )
    held = nested(outputs, grid, counts, objective, parts)
    now = decide(outputs, current)
    losses = [objective.loss(d.right, d.spoke, d.covered) for d in (held.decisions, now)]
    p = grouped_sign_flip(losses[0] - losses[1], skill_groups(outputs.turns), seed=seed)
    covered = outputs.covered
    paired = mcnemar(held.decisions.correct, now.correct)
    scores_now = Scores.of(now, objective)
    scores_held = Scores.of(held.decisions, objective)
    return TuneResult(
        objective=str(objective),
        current=current,
        chosen=chosen,
        scores_current=scores_now,
        scores_chosen=Scores.of(decide(outputs, best), objective),
        scores_held_out=scores_held,
        fold_thresholds=held.thresholds,
        paired_all=paired,
        paired_covered=mcnemar(held.decisions.correct[covered], now.correct[covered]),
        paired_uncovered=mcnemar(held.decisions.correct[~covered], now.correct[~covered]),
        loss_p=p,
        verdict=judge_gain(scores_now, scores_held, paired, p, objective),
        front=pareto_front(counts, grid),
        excerpt_matters=outputs.excerpt_matters,
        gate_fit_pairs=grid.pairs,
        points=int(np.prod(grid.shape)),
        requests=len(outputs.turns),
        sweep_ms=round(sweep_ms, 1),
    )


def pareto_front(counts: Counts, grid: Grid) -> tuple[FrontPoint, ...]:
    """The points that no other beats: more right, or fewer needless suggestions.

    Returns:
        One point for each needless rate that is worth its price, by rising rate.
    """
    needless, right = counts.needless.ravel(), counts.right.ravel()
    order = np.lexsort((-right, needless))
    reached = np.maximum.accumulate(right[order])
    new = np.append(True, reached[1:] > reached[:-1])
    return tuple(
        FrontPoint(
            needless=float(needless[i]) / max(counts.uncovered, 1),
            right=float(right[i]) / max(counts.covered, 1),
            thresholds=grid.at(tuple(int(k) for k in np.unravel_index(i, grid.shape))),
        )
        for i in order[new]
    )


def thresholds_file(result: TuneResult) -> str:
    """The chosen thresholds as TOML, the figures behind them as comments."""
    held = result.scores_held_out
    comments = [
        f"chosen for the {result.objective}",
        f"on {result.requests} requests; held out: right {held.right}, wrong {held.wrong},",
        f"silent {held.silent}, needless {held.needless}",
        f"against the thresholds before: {result.verdict.outcome.value} (p = {result.loss_p:.3g})",
    ]
    return "".join(f"# {line}\n" for line in comments) + result.chosen.to_toml()
