"""The figure of the README: right and wrong against needless suggestions, on several rosters.

python -m eval.overview docs/tradeoff.svg "Hermes=ROSTER,REQUESTS" "mixed=ROSTER,REQUESTS"
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import numpy as np

from eval.data import load_turns
from eval.tune.stages import collect
from eval.tune.sweep import Grid, sweep
from roster import Roster
from router.pipeline import Router

HOSTED = (0.145, 0.879, 0.048)
"""Needless, right and wrong suggestions recorded for the hosted decision model, on its own roster
of 182 skills and 488 requests."""

_COLOURS = ("#2a78d6", "#eb6834", "#3a9d5d", "#8a5cc2")


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("sets", nargs=-1, required=True, metavar="LABEL=ROSTER,REQUESTS...")
def main(out: Path, sets: tuple[str, ...]) -> None:
    """Draw the trade-off of the shipped router on labelled rosters."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(7.6, 4.2), facecolor="white", layout="constrained")
    axes = figure.subplots()
    for colour, spec in zip(_COLOURS, sets, strict=False):
        label, _, paths = spec.partition("=")
        roster_path, _, requests_path = paths.partition(",")
        if not requests_path:
            raise click.UsageError(f"{spec!r}: write LABEL=ROSTER,REQUESTS")
        needless, right, wrong, now = _curve(roster_path, requests_path)
        axes.plot(needless, right, color=colour, lw=1.7, label=f"{label}: right")
        axes.plot(needless, wrong, color=colour, lw=1.3, ls="--", label=f"{label}: wrong")
        axes.plot([now[0]] * 2, now[1:], "o", color=colour, ms=6)
    axes.plot([HOSTED[0]] * 2, HOSTED[1:], "D", color="#555555", ms=6, label="hosted model")
    axes.set_xlim(0, 0.3)
    axes.set_ylim(0, 1)
    axes.set_xlabel("needless suggestions, share of uncovered requests")
    axes.set_ylabel("share of covered requests")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(color="#e4e4e4", lw=0.8)
    axes.legend(frameon=False, fontsize=9, loc="center right")
    with rc_context({"svg.hashsalt": "overview", "svg.fonttype": "none"}):
        figure.savefig(out, metadata={"Date": None})
    click.echo(f"wrote {out}", err=True)


def _curve(
    roster_path: str, requests_path: str
) -> tuple[list[float], list[float], list[float], tuple[float, float, float]]:
    """Shares along the fit threshold, at the gate in use; and the shares in use."""
    roster = Roster.bundled() if roster_path == "bundled" else Roster.from_path(roster_path)
    router = Router.load(roster)
    thresholds = router.thresholds
    turns = load_turns(requests_path, roster.names)
    outputs = collect(router, turns, thresholds.shortlist, (thresholds.excerpt,))
    grid = Grid.around(thresholds, outputs, (thresholds.shortlist,))
    counts = sweep(outputs, grid)
    row = int(np.flatnonzero(grid.gates == thresholds.gate)[0])
    at = int(np.flatnonzero(grid.fits == thresholds.fit)[0])
    right = counts.right[0, 0, row] / max(counts.covered, 1)
    wrong = counts.wrong[0, 0, row] / max(counts.covered, 1)
    needless = counts.needless[0, 0, row] / max(counts.uncovered, 1)
    now = (float(needless[at]), float(right[at]), float(wrong[at]))
    return needless.tolist(), right.tolist(), wrong.tolist(), now


if __name__ == "__main__":
    sys.exit(main())
