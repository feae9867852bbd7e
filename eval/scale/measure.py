"""One size of crowd, measured in a process of its own: ``python -m eval.scale.measure``."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib import parallel_config

from eval.bench import run_bench, summarize
from eval.data import LabelledTurn, load_turns
from eval.metrics import percentiles
from eval.scale.crowd import crowd
from roster import Roster
from router.index.bulk import Pace
from router.index.load import embed_roster
from router.index.look import LARGE
from router.index.pool import Pool
from router.local.judge import LocalJudge
from router.pipeline import Router

MIB = 1 << 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one size, and print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m eval.scale.measure", description=__doc__)
    common_options(parser)
    parser.add_argument("--size", type=int, required=True, help="skills of the crowd")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    print(json.dumps(measure(given)))
    return 0


def common_options(parser: argparse.ArgumentParser) -> None:
    """The options that say what is measured on what."""
    parser.add_argument("--archive", type=Path, required=True, help=".tar.zst or folder of skills")
    parser.add_argument(
        "--roster", type=Path, action="append", required=True,
        help="a roster inside the crowd; repeat. The first one is what --requests are labelled for",
    )  # fmt: skip
    parser.add_argument("--requests", type=Path, required=True, help="labelled requests")
    parser.add_argument("--cache", type=Path, required=True, help="folder of indexes, kept")
    parser.add_argument("--jobs", type=int, default=1, help="workers that embed")


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """What `measure.main` prints.

    Args:
        given: Its arguments.

    Returns:
        Seconds to load the roster, to embed its texts (those that were not), to build the index
        and to open it; memory in MiB with everything loaded and after all turns; size on disk; the
        numbers of the benchmark.
    """
    import psutil

    process = psutil.Process()
    found: dict[str, Any] = {"size": given.size, "cores": os.cpu_count()}
    found["load_before"] = round(os.getloadavg()[0], 2)
    started = time.perf_counter()
    roster = crowd(rosters(given.roster), given.archive, given.size)
    found["roster_s"] = round(time.perf_counter() - started, 1)
    found["roster_mib"] = round(process.memory_info().rss / MIB)
    turns = load_turns(given.requests, roster.names)
    large = len(roster) > LARGE
    if large:
        found |= _embedded(roster, given)
    for name in ("index_s", "open_s"):  # the second time everything is on disk
        started = time.perf_counter()
        with parallel_config(n_jobs=given.jobs):
            router = Router.load(roster, cache=given.cache)
        found[name] = round(time.perf_counter() - started, 2)
    router.suggest("a warm-up request that is not measured")
    found["rss_loaded_mib"] = round(process.memory_info().rss / MIB)
    found |= answered(router, turns)
    found["rss_mib"] = round(process.memory_info().rss / MIB)
    found["unique_mib"] = round(process.memory_full_info().uss / MIB)
    return found | _on_disk(router)


def rosters(paths: Sequence[Path]) -> list[Roster]:
    """The rosters inside a crowd."""
    return [Roster.from_path(path, duplicates="namespace") for path in paths]


def answered(router: Router, turns: Sequence[LabelledTurn]) -> dict[str, Any]:
    """Hits and latency over labelled turns."""
    answers = run_bench(router, turns)
    summary = summarize(router, answers)
    wanted = ("hit_at_1", "hit_at_10", "right", "wrong", "silent", "needless", "covered")
    times = [answer.suggestion.elapsed_ms["total"] for answer in answers]
    rank = [answer.suggestion.elapsed_ms.get("rank", 0.0) for answer in answers]
    return {
        **{name: summary[name] for name in wanted},
        "turns": len(turns),
        "latency_ms": percentiles(times),
        "rank_ms": percentiles(rank),
    }


def _embedded(roster: Roster, given: argparse.Namespace) -> dict[str, Any]:
    """Embed as a user does, with the pace on the error stream."""

    def told(pace: Pace) -> None:
        print(f"{given.size:,} skills: {pace}", file=sys.stderr, flush=True)

    started = time.perf_counter()
    texts = embed_roster(roster, cache=given.cache, jobs=given.jobs, report=told)
    return {"embed_s": round(time.perf_counter() - started, 1), "embedded_texts": texts}


def _on_disk(router: Router) -> dict[str, Any]:
    """What the index of a large roster holds."""
    judge = router.judge
    if not isinstance(judge, LocalJudge) or not isinstance(judge.looker, Pool):
        return {}
    segments = judge.looker.segments
    size = sum(segment.path.stat().st_size for segment in segments)
    return {
        "disk_mib": round(size / MIB),
        "groups": len(judge.looker.members),
        "vectors": sum(len(segment.vectors) for segment in segments),
    }


if __name__ == "__main__":
    sys.exit(main())
