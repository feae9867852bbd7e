"""What quantizing costs: the router on the int8 encoder and on fp32, ``python -m eval.int8``.

Fusion, gate, fits and thresholds are those learned for the int8 encoder in both.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.bench import run_bench, summarize
from eval.data import LabelledTurn, RequestsError, load_turns
from eval.paths import requests_folder
from roster import Roster
from roster.errors import RosterError
from router.errors import RouterError
from router.local.encoder import load_encoder
from router.local.heads import heads_for
from router.local.onnx_encoder import OnnxEncoder
from router.pipeline import Router

BAR_POINTS = 0.3
KEYS = ("covered", "hit_at_1", "hit_at_3", "hit_at_10", "right", "wrong", "silent", "needless")


def main() -> int:
    """Compare, print one JSON object, and return 0 when Hit@1 is within the bar."""
    parser = argparse.ArgumentParser(prog="python -m eval.int8", description=__doc__)
    parser.add_argument("fp32", help="folder from `skill-router train export --fp32`")
    parser.add_argument("--encoder", help="the int8 encoder [default: the shipped one]")
    parser.add_argument("--heads", help="heads learned for it [default: the shipped ones]")
    parser.add_argument("--roster", help="a roster [default: the bundled one]")
    parser.add_argument("--requests", help="its labelled turns")
    given = parser.parse_args()
    if (given.roster is None) != (given.requests is None):
        parser.error("--roster and --requests belong together")
    try:
        roster = Roster.bundled() if given.roster is None else Roster.from_path(given.roster)
        requests = given.requests or requests_folder() / "bundled.jsonl"
        turns = load_turns(Path(requests), roster.names)
        found = compare(roster, turns, given.fp32, given.encoder, given.heads)
    except (RosterError, RouterError, RequestsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2))
    return 0 if found["within"] else 1


def compare(
    roster: Roster,
    turns: Sequence[LabelledTurn],
    fp32: str | Path,
    encoder: str | None = None,
    heads: str | Path | None = None,
) -> dict[str, Any]:
    """What the router says with an encoder in int8 and in fp32.

    Args:
        roster: The roster.
        turns: Its labelled turns.
        fp32: Folder of the encoder in fp32.
        encoder: The same encoder in int8, by folder; None for the shipped one.
        heads: Heads learned for it; None for the shipped ones.

    Returns:
        For `int8` and `fp32` the counts of `eval.bench.summarize`; `points_lost`, by which int8 is
        below fp32 in Hit@1, in percent; whether that is within the bar; and how many turns are
        answered otherwise.

    Raises:
        RouterError: If an encoder or the heads cannot be used.
    """
    small = load_encoder(encoder)
    full = OnnxEncoder(Path(fp32))
    learned = heads_for(small.name, small.digest, heads)
    same = learned.model_copy(update={"encoder_digest": full.digest})
    found: dict[str, Any] = {}
    said = []
    for name, one, of in (("int8", small, learned), ("fp32", full, same)):
        router = Router.load(roster, encoder=one, heads=of)
        answers = run_bench(router, turns)
        summary = summarize(router, answers)
        found[name] = {key: summary[key] for key in KEYS}
        said.append([answer.suggestion.name for answer in answers])
    points = 100.0 * (found["fp32"]["hit_at_1"] - found["int8"]["hit_at_1"])
    return found | {
        "turns": len(turns),
        "answered_otherwise": sum(a != b for a, b in zip(*said, strict=True)),
        "points_lost": round(points, 2),
        "bar_points": BAR_POINTS,
        "within": points <= BAR_POINTS,
    }


if __name__ == "__main__":
    sys.exit(main())
