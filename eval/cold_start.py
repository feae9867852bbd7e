"""What a cold process costs: ``python -m eval.cold_start``.

Each measurement is a new interpreter: first `import router` alone, then a whole process that loads
a router whose index is in the cache and asks it once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from time import perf_counter
from typing import Any

from eval.metrics import percentiles
from roster import Roster
from roster.errors import RosterError

BAR_IMPORT_S = 0.4
BAR_FIRST_S = 1.2

_IMPORT = """
from time import perf_counter
start = perf_counter()
import router
print(perf_counter() - start)
"""
_FIRST = """
import sys
from roster import Roster
from router import Router
roster = Roster.from_path(sys.argv[1]) if len(sys.argv) > 1 else Roster.bundled()
router = Router.load(roster, cache=%r)
print(router.suggest("Turn these meeting notes into a list of tasks.").reason.value)
"""


def main() -> int:
    """Measure, print one JSON object, and return 0 when both medians are within their bars."""
    parser = argparse.ArgumentParser(prog="python -m eval.cold_start", description=__doc__)
    parser.add_argument("--times", type=int, default=10, help="processes of either kind [10]")
    parser.add_argument("--roster", help="a roster [default: the bundled one]")
    given = parser.parse_args()
    try:
        if given.roster is not None:
            Roster.from_path(given.roster)
    except RosterError as error:
        parser.error(str(error))
    found = measure(max(1, given.times), given.roster)
    print(json.dumps(found, indent=2))
    return 0 if found["met"] else 1


def measure(times: int, roster: str | None = None) -> dict[str, Any]:
    """Time new processes.

    Args:
        times: Processes of either kind.
        roster: Path of a roster; None for the bundled one.

    Returns:
        Seconds at the median and the 95th percentile: `import_router_s`, measured inside the
        process, and `first_suggestion_s`, from the start of the process to its end; their `bars`,
        and whether both medians have `met` them.

    Raises:
        subprocess.CalledProcessError: If a process fails.
    """
    imports = [float(_run(_IMPORT)) for _ in range(times)]
    rosters = [] if roster is None else [roster]
    with tempfile.TemporaryDirectory() as cache:
        code = _FIRST % cache
        _run(code, *rosters)  # builds the index
        firsts = []
        for _ in range(times):
            started = perf_counter()
            _run(code, *rosters)
            firsts.append(perf_counter() - started)
    found = {"import_router_s": percentiles(imports), "first_suggestion_s": percentiles(firsts)}
    met = (
        found["import_router_s"]["p50"] <= BAR_IMPORT_S
        and found["first_suggestion_s"]["p50"] <= BAR_FIRST_S
    )
    bars = {"import_router_s": BAR_IMPORT_S, "first_suggestion_s": BAR_FIRST_S}
    return {"processes": times, **found, "bars": bars, "met": met}


def _run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
