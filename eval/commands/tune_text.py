"""What `skill-router tune` prints."""

from __future__ import annotations

from pathlib import Path

from eval.tune import TuneResult
from eval.tune.result import decimals


def print_result(result: TuneResult, out: str, plot: str | None, written: bool) -> None:
    """Print scores, thresholds, the verdict, and what was written.

    Args:
        result: What tuning found.
        out: File of the chosen thresholds.
        plot: File of the picture, or None.
        written: Whether `out` was written.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{result.requests} requests; {result.gate_fit_pairs:,} pairs of gate and fit, "
        f"{result.points:,} points in all, swept in {result.sweep_ms:,.0f} ms", markup=False,
    )  # fmt: skip
    console.print(f"objective: {result.objective}", markup=False)
    if not result.excerpt_matters:
        console.print("the excerpt makes no difference, or cannot be varied: it is left as it is")
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    for column in ("right", "wrong", "silent", "needless", "loss"):
        table.add_column(column, justify="right")
    for label, scores in (
        ("current", result.scores_current),
        ("chosen, same requests", result.scores_chosen),
        ("chosen, held-out requests", result.scores_held_out),
    ):
        rates = (scores.right, scores.wrong, scores.silent, scores.needless)
        table.add_row(label, *(f"{rate.value:.1%}" for rate in rates), f"{scores.loss:.4f}")
    console.print(table)
    for label, t in (("current", result.current), ("chosen", result.chosen)):
        console.print(
            f"{label:8} gate {decimals(t.gate)}, fit {decimals(t.fit)}, shortlist {t.shortlist}, "
            f"excerpt {t.excerpt}"
        )
    spread = [
        f"{name} {min(values):g}-{max(values):g}"
        for name, values in (
            ("gate", [t.gate for t in result.fold_thresholds]),
            ("fit", [t.fit for t in result.fold_thresholds]),
            ("shortlist", [t.shortlist for t in result.fold_thresholds]),
        )
    ]
    console.print(f"chosen without one fold at a time: {', '.join(spread)}")
    console.print(
        "held out against current, decided correctly by only one of them (McNemar): "
        f"covered {result.paired_covered}; uncovered {result.paired_uncovered}", markup=False,
    )  # fmt: skip
    console.print(result.verdict.sentence, markup=False)
    if result.replayed_otherwise:
        console.print(
            f"note: the router decides {result.replayed_otherwise} requests otherwise than its "
            "stored stage outputs; its fits depend on the size of the shortlist"
        )
    if not written:
        before = "is left as it was" if Path(out).expanduser().exists() else "is not written"
        console.print(f"{out} {before}; --force writes the choice all the same", markup=False)
    files = [*([out] if written else []), *([plot] if plot is not None else [])]
    if files:
        console.print(f"written: {', '.join(files)}", markup=False)
