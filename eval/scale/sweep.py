"""A benchmark in parts, one a worker: on this machine's cores, or on a cluster joblib is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eval.bench import Answer, run_bench
from eval.data import LabelledTurn
from roster import Roster
from router.pipeline import Router
from router.thresholds import Thresholds


def sweep(
    roster: Path,
    turns: Sequence[LabelledTurn],
    settings: Sequence[Thresholds],
    cache: Path | None = None,
    jobs: int | None = None,
    part: int = 200,
) -> list[list[Answer]]:
    """Answer labelled turns under several thresholds.

    Args:
        roster: Path of the roster, where every worker can read it.
        turns: The labelled turns.
        settings: The thresholds.
        cache: The cache folder of the workers; by default each machine's own.
        jobs: Workers; None leaves it to `joblib.parallel_config`.
        part: Turns a worker is given at once; it loads the router for them.

    Returns:
        For each thresholds one answer a turn, in order.
    """
    from joblib import Parallel, delayed

    parts = [turns[at : at + part] for at in range(0, len(turns), part)]
    work = (delayed(_answers)(roster, one, given, cache) for given in settings for one in parts)
    done = iter(Parallel(n_jobs=jobs)(work))
    return [[answer for _ in parts for answer in next(done)] for _ in settings]


def _answers(
    roster: Path, turns: Sequence[LabelledTurn], thresholds: Thresholds, cache: Path | None
) -> list[Answer]:
    loaded = Roster.from_path(roster, duplicates="namespace")
    return run_bench(Router.load(loaded, thresholds=thresholds, cache=cache), turns)
