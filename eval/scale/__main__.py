"""Grow a crowd and measure each size: ``python -m eval.scale``.

Each size runs in a process of its own, so that its memory is its own. Embedding is resumable: what
a stopped run has embedded, the next one finds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.scale.measure import common_options
from eval.scale.report import BARS, figure, table, verdicts

SIZES = "177,1000,10000,60000"


def main() -> int:
    """Measure, print a table and the verdicts on the bars; 0 when all are met."""
    parser = argparse.ArgumentParser(prog="python -m eval.scale", description=__doc__)
    common_options(parser)
    parser.add_argument("--sizes", default=SIZES, help=f"sizes of the crowd [{SIZES}]")
    parser.add_argument("--out", type=Path, required=True, help="JSON of all numbers")
    parser.add_argument("--figure", type=Path, help="SVG of hits, time and memory")
    given = parser.parse_args()
    options = ["--archive", given.archive, "--requests", given.requests, "--cache", given.cache]
    options += ["--jobs", given.jobs, *(["--hashed"] if given.hashed else [])]
    for roster in given.roster:
        options += ["--roster", roster]
    known = json.loads(given.out.read_text(encoding="utf-8")) if given.out.is_file() else []
    found = {entry["size"]: entry for entry in known}
    for size in sorted(int(part) for part in given.sizes.split(",")):
        command = [sys.executable, "-m", "eval.scale.measure", "--size", size, *options]
        found[size] = _printed([*command, "--prepare"]) | _printed(command)
        given.out.write_text(
            json.dumps([found[key] for key in sorted(found)], indent=1) + "\n", encoding="utf-8"
        )
    rows = [found[key] for key in sorted(found)]
    print(table(rows))
    met = verdicts(rows)
    for name, verdict in met.items():
        print(f"{'met' if verdict else 'MISSED':7} {name}: {BARS[name]}")
    if given.figure is not None:
        given.figure.write_text(figure(rows), encoding="utf-8")
    return 0 if all(met.values()) else 1


def _printed(command: Sequence[object]) -> dict[str, Any]:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True)
    value: dict[str, Any] = json.loads(done.stdout)
    return value


if __name__ == "__main__":
    sys.exit(main())
