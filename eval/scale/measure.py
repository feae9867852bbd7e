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

from eval.bench import Answer, summarize
from eval.data import LabelledTurn, load_turns
from eval.metrics import percentiles
from eval.scale.crowd import crowd
from eval.scale.hashed import HashedEncoder
from eval.scale.versions import hits_of_versions
from roster import Roster
from router.index.bulk import Pace
from router.index.load import embed_roster
from router.index.look import LARGE
from router.index.pool import Pool
from router.local.encoder import Encoder, load_encoder
from router.local.heads import Heads, heads_for
from router.local.judge import LocalJudge
from router.pipeline import Router

MIB = 1 << 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one size, and print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m eval.scale.measure", description=__doc__)
    common_options(parser)
    parser.add_argument("--size", type=int, required=True, help="skills of the crowd")
    parser.add_argument("--prepare", action="store_true", help="only make the index")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    print(json.dumps(prepare(given) if given.prepare else measure(given)))
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
    parser.add_argument(
        "--hashed", action="store_true",
        help="vectors by hashing words: for time, memory and size; hits mean nothing then",
    )  # fmt: skip


def chosen(given: argparse.Namespace) -> tuple[Encoder, Heads]:
    """The encoder that `common_options` choose, and the learned numbers to use with it."""
    shipped = load_encoder()
    heads = heads_for(shipped.name, shipped.digest)
    if not given.hashed:
        return shipped, heads
    hashed = HashedEncoder()
    return hashed, heads.model_copy(
        update={"encoder": hashed.name, "encoder_digest": hashed.digest}
    )


def prepare(given: argparse.Namespace) -> dict[str, Any]:
    """Make the index, as a user does, with the pace on the error stream.

    Args:
        given: The arguments of `main`.

    Returns:
        Texts embedded and the seconds that took, and the seconds to write the index.
    """

    def told(pace: Pace) -> None:
        print(f"{given.size:,} skills: {pace}", file=sys.stderr, flush=True)

    roster = crowd(rosters(given.roster), given.archive, given.size)
    encoder, heads = chosen(given)
    started, texts = time.perf_counter(), 0
    if len(roster) > LARGE and not given.hashed:
        texts = embed_roster(roster, cache=given.cache, jobs=given.jobs, report=told)
    embedded, cpu = time.perf_counter(), time.process_time()
    with parallel_config(n_jobs=given.jobs):
        Router.load(roster, encoder=encoder, heads=heads, cache=given.cache)
    return {
        "embedded_texts": texts,
        "embed_s": round(embedded - started, 1),
        "index_s": round(time.perf_counter() - embedded, 1),
        "index_cpu_s": round(time.process_time() - cpu, 1),
    }


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Open the index that `prepare` made, in a process that did not make it, and ask.

    Args:
        given: The arguments of `main`.

    Returns:
        Seconds to read the roster and to open the router; memory in MiB of the roster, with
        everything loaded, and after all turns; size on disk; the numbers of the benchmark.
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
    encoder, heads = chosen(given)
    started = time.perf_counter()
    router = Router.load(roster, encoder=encoder, heads=heads, cache=given.cache)
    found["open_s"] = round(time.perf_counter() - started, 2)
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
    """Hits, and what a suggestion takes: milliseconds, and those of processor time, all threads.

    The second does not grow when other programs use the machine.
    """
    answers, cpu = [], []
    for labelled in turns:
        before = time.process_time()
        answers.append(Answer(turn=labelled, suggestion=router.suggest(labelled.turn())))
        cpu.append(1000 * (time.process_time() - before))
    summary = summarize(router, answers)
    wanted = ("hit_at_1", "hit_at_10", "right", "wrong", "silent", "needless", "covered")
    return {
        **{name: summary[name] for name in wanted},
        **hits_of_versions(router.roster, answers),
        "turns": len(turns),
        "latency_ms": summary["latency_ms"],
        "cpu_ms": percentiles(cpu),
    }


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
