"""What the sensitivity commands print."""

from __future__ import annotations

from eval.sensitivity import EditReport, SensitivityReport
from roster.text import one_line, visible


def print_variants(report: SensitivityReport, show: int) -> None:
    """Print scores, spread, agreement and the most contested requests."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("variant", overflow="fold")
    for column in ("changes", "correct", "wrong loads", "needless"):
        table.add_column(column, justify="right")
    for score in report.scores:
        table.add_row(
            escape(score.name), score.kind, f"{score.correct.value:.1%}",
            f"{score.wrong.value:.1%}", f"{score.needless.value:.1%}",
        )  # fmt: skip
    console.print(table)
    for spread in report.spreads:
        sd = "-" if spread.sd is None else f"{spread.sd:.3f}"
        console.print(
            f"{spread.kind}: {spread.variants} variants, mean {spread.mean:.3f}, range "
            f"{spread.least:.3f}-{spread.most:.3f}, sd {sd}; case-sampling sd {spread.case_sd:.3f}"
        )
    console.print(
        f"all variants pick the same on {report.same_pick:.1%} of {report.requests} requests, and "
        f"agree on right or wrong on {report.same_verdict:.1%}"
    )
    console.print(
        f"best {report.best} against worst {report.worst}: {report.best_against_worst} (McNemar)"
        if report.best != report.worst
        else "all variants decide as many requests correctly",
        markup=False,
    )
    if report.held_out_best is None:
        console.print("too few requests to measure the best variant where it was not chosen")
    else:
        console.print(
            f"the best variant where it was not chosen: {report.held_out_best} correct; against "
            f"the original {report.held_out_against_original}",
            markup=False,
        )
    for contested in report.unstable[:show]:
        console.print(
            f"\n  {_line(contested.text)}  [{contested.gold or 'no skill'}]", markup=False
        )
        for pick, names in contested.picks.items():
            console.print(f"    {pick or 'no skill'}: {', '.join(names)}", markup=False)


def print_edit(report: EditReport) -> None:
    """Print both error rates before and after, and which requests moved."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    lines = [
        f"{report.skill}: description of {report.characters_before} -> "
        f"{report.characters_after} characters",
        f"neighbours: {', '.join(report.neighbours) or 'none'}",
        f"misses       {report.miss_before} -> {report.miss_after}   "
        f"(of {report.needing} requests that need it)",
        f"false loads  {report.false_before} -> {report.false_after}   "
        f"(of {report.others} of its neighbours, or close to it)",
        f"only after correct, only before: {report.paired} (McNemar)",
        f"{len(report.moved)} of {report.checked} requests moved",
    ]
    lines += [
        f"  {moved.effect.value:8} {moved.before or 'no skill'} -> {moved.after or 'no skill'}  "
        f"[{moved.gold or 'no skill'}]  {_line(moved.text)}"
        for moved in report.moved
    ]
    for line in lines:
        console.print(line, markup=False)


def _line(text: str, width: int = 100) -> str:
    flat = visible(one_line(text))
    return flat if len(flat) <= width else f"{flat[: width - 3]}..."
