"""Whether the index finds what brute force finds: ``python -m eval.scale.agree``.

Brute force scores every skill in full for every query, block by block. A query agrees when its ten
best are those of brute force; skills whose scores are equal may stand in for one another.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.data import load_turns
from eval.scale.crowd import crowd
from eval.scale.measure import chosen, common_options, rosters
from router.index.load import load_pool
from router.index.pool import Pool
from router.index.scoring import column_slopes
from router.local.heads import Linear
from router.local.scripts import as_read
from router.turn import Turn

_ROWS_AT_ONCE = 1_000
_TURNS_AT_ONCE = 250
_EQUAL = 1e-3
"""Logits that differ by less are equal: float32 sums in another order."""


def main() -> int:
    """Compare, and print one JSON object; 0 when the bar is met."""
    parser = argparse.ArgumentParser(prog="python -m eval.scale.agree", description=__doc__)
    common_options(parser)
    parser.add_argument("--size", type=int, required=True, help="skills of the crowd")
    parser.add_argument("--more", type=Path, action="append", default=[], help="more requests")
    parser.add_argument("--queries", type=int, default=1_000, help="most queries")
    parser.add_argument("--index", default="exact", help="exact, or milvus:URI")
    given = parser.parse_args()
    encoder, heads = chosen(given)
    roster = crowd(rosters(given.roster), given.archive, given.size)
    pool = load_pool(as_read(roster, encoder), encoder, given.cache, index=given.index)
    texts = [turn for path in (given.requests, *given.more) for turn in load_turns(path)]
    turns = [turn.turn() for turn in texts][: given.queries]
    found = compare(pool, turns, heads.wide)
    least = 1.0 if given.index == "exact" else 0.99
    print(json.dumps({"size": given.size, "index": given.index.partition(":")[0], **found}))
    return 0 if found["agree"] >= least * found["queries"] else 1


def compare(pool: Pool, turns: Sequence[Turn], wide: Linear, top: int = 10) -> dict[str, Any]:
    """Compare the best skills of the index with those of brute force.

    Args:
        pool: The roster.
        turns: The queries.
        wide: The learned fusion.
        top: How many best ones are compared.

    Returns:
        Number of queries, on how many the best `top` agree, the mean share of them found, and
        milliseconds a query by both ways.
    """
    agree, shares, fast, slow = 0, [], 0.0, 0.0
    for first in range(0, len(turns), _TURNS_AT_ONCE):
        part = turns[first : first + _TURNS_AT_ONCE]
        started = time.perf_counter()
        looks = [pool.look(turn, wide) for turn in part]
        fast += time.perf_counter() - started
        started = time.perf_counter()
        scores = brute_scores(pool, part, wide)
        slow += time.perf_counter() - started
        for look, row in zip(looks, scores, strict=True):
            least = np.sort(row[np.isfinite(row)])[::-1][:top][-1] - _EQUAL
            best = np.argsort(-look.logits, kind="stable")[:top]
            good = sum(row[pool.rows[look.names[place]]] >= least for place in best)
            shares.append(good / min(top, int(np.isfinite(row).sum())))
            agree += shares[-1] == 1.0
        print(f"{first + len(part)} queries, {agree} agree", file=sys.stderr, flush=True)
    n = max(len(turns), 1)
    return {
        "queries": len(turns),
        "agree": int(agree),
        "found": round(float(np.mean(shares)), 5) if shares else None,
        "index_ms": round(1000 * fast / n, 2),
        "brute_ms": round(1000 * slow / n, 2),
    }


def brute_scores(pool: Pool, turns: Sequence[Turn], wide: Linear) -> NDArray[np.float32]:
    """Every skill scored in full for every turn, shape (turns, rows); -inf for rows dropped."""
    prepared = [pool.prepare(turn) for turn in turns]
    slopes = [column_slopes(wide, one.moments[1]) for one in prepared]
    scores = np.full((len(turns), len(pool)), -np.inf, np.float32)
    rows = np.array(sorted(pool.members), np.int64)
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        view = pool.view(rows[at : at + _ROWS_AT_ONCE])
        for i, (seen, slope) in enumerate(zip(prepared, slopes, strict=True)):
            scores[i, view.rows] = pool.matrix(view, seen) @ slope
    return scores


if __name__ == "__main__":
    sys.exit(main())
