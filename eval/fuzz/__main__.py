"""The command: ``python -m eval.fuzz --inputs 100000``."""

from __future__ import annotations

import argparse
import json
import logging
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from eval.files import write_whole
from eval.fuzz.run import Tally, feed_one, fuzz, keep_examples
from eval.fuzz.targets import NAMES, open_targets


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz, print a table, and return 0 when no fault was found."""
    parser = argparse.ArgumentParser(prog="python -m eval.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=3_000, help="inputs in all")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same inputs")
    parser.add_argument(
        "--target", action="append", choices=NAMES, metavar="NAME", help="only this one; repeat it"
    )
    parser.add_argument("--keep", type=Path, help="folder for an input of every kind of fault")
    parser.add_argument("--replay", type=Path, help="feed this one input to the target")
    parser.add_argument("--json", type=Path, help="write the figures as JSON")
    options = parser.parse_args(arguments)
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # every refusal would be logged
    try:
        return _run(options)
    finally:
        logging.disable(before)


def _run(options: argparse.Namespace) -> int:
    names = options.target or NAMES
    with tempfile.TemporaryDirectory() as folder, open_targets(Path(folder), names) as chosen:
        if options.replay:
            tally = Tally(chosen[0].name)
            feed_one(chosen[0], options.replay.read_bytes(), tally)
            tallies = [tally]
        else:
            print(_HEAD)
            tallies = fuzz(
                chosen, options.inputs, options.seed, lambda t: print(_row(t), flush=True)
            )
    whole = _sum(tallies)
    print(_row(whole))
    for tally in tallies:
        for fault in tally.faults.values():
            print(f"\n{tally.target}: {fault.kind} ({fault.count})\n{fault.error}", file=sys.stderr)
    if options.keep:
        keep_examples(tallies, options.keep)
    if options.json:
        write_whole(options.json, json.dumps(_record(tallies, options.seed), indent=2) + "\n")
    return 1 if whole.faulty else 0


_HEAD = (
    f"{'target':<18} {'inputs':>8} {'accepted':>9} {'refused':>8} "
    f"{'faults':>7} {'slowest':>9} {'time':>7}"
)


def _row(tally: Tally) -> str:
    return (
        f"{tally.target:<18} {tally.inputs:>8,} {tally.accepted:>9,} {tally.refused:>8,} "
        f"{tally.faulty:>7,} {tally.slowest_s * 1000:>6.0f} ms {tally.seconds:>5.0f} s"
    )


def _sum(tallies: Sequence[Tally]) -> Tally:
    whole = Tally("all")
    for tally in tallies:
        whole.inputs += tally.inputs
        whole.accepted += tally.accepted
        whole.refused += tally.refused
        whole.faults.update({f"{tally.target} {k}": f for k, f in tally.faults.items()})
        whole.slowest_s = max(whole.slowest_s, tally.slowest_s)
        whole.seconds += tally.seconds
    return whole


def _record(tallies: Sequence[Tally], seed: int) -> dict[str, object]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = [
        {
            "target": tally.target,
            "inputs": tally.inputs,
            "accepted": tally.accepted,
            "refused": tally.refused,
            "faults": {fault.kind: fault.count for fault in tally.faults.values()},
            "slowest_s": round(tally.slowest_s, 4),
            "seconds": round(tally.seconds, 1),
        }
        for tally in tallies
    ]
    whole = _sum(tallies)
    return {
        "seed": seed,
        "inputs": whole.inputs,
        "faults": whole.faulty,
        "peak_mib": round(peak),
        "targets": rows,
    }


if __name__ == "__main__":
    sys.exit(main())
