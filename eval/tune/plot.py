"""The Pareto front as a picture."""

from __future__ import annotations

import io
from pathlib import Path

from eval.files import write_whole
from eval.tune.result import Outcome, Scores, TuneResult, decimals
from eval.tune.stages import TuneError

FORMATS = (".png", ".svg", ".pdf")

_IN_WORDS = {
    Outcome.SURVIVES: "the gain survives on held-out requests",
    Outcome.UNPROVEN: "the gain is within chance on held-out requests",
    Outcome.LOST: "the gain does not survive on held-out requests",
    Outcome.SAME: "decides as the current thresholds do",
    Outcome.BOUND_BROKEN: "the bound does not hold on held-out requests",
}


def plot_front(result: TuneResult, path: str | Path) -> Path:
    """Draw right against needless suggestions, with the chosen and the current point.

    Args:
        result: What tuning found.
        path: A .png, .svg or .pdf file.

    Raises:
        TuneError: If the ending is another one.
        OutputError: If the file cannot be written.
    """
    path = Path(path).expanduser()
    if path.suffix.lower() not in FORMATS:
        raise TuneError(f"{path}: cannot be drawn; end the name in {', '.join(FORMATS)}")
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(7.2, 4.8), dpi=140, layout="constrained")
    axes = figure.subplots()
    axes.plot(
        [point.needless for point in result.front],
        [point.right for point in result.front],
        color="#2a6fbb",
        drawstyle="steps-post",
        label=f"Pareto front of {result.points:,} points",
    )
    marks: list[tuple[str, Scores, str, str]] = [
        ("current", result.scores_current, "s", "#7a7a7a"),
        ("chosen, on the requests it was chosen on", result.scores_chosen, "o", "#2a6fbb"),
        ("the choice, on requests it was not made on", result.scores_held_out, "D", "#d1571f"),
    ]
    for label, scores, marker, colour in marks:
        x, y = scores.needless, scores.right
        # No bars where the point was chosen: there they would be too short.
        bars = scores is not result.scores_chosen
        axes.errorbar(
            x.value,
            y.value,
            xerr=[[x.value - x.low], [x.high - x.value]] if bars else None,
            yerr=[[y.value - y.low], [y.high - y.value]] if bars else None,
            fmt=marker,
            color=colour,
            markersize=7,
            linewidth=0.9,
            capsize=2,
            label=label,
        )
    axes.set_xlabel("needless suggestions, share of uncovered requests")
    axes.set_ylabel("right suggestions, share of covered requests")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(color="#e4e4e4", lw=0.7)
    axes.set_axisbelow(True)
    chosen = result.chosen
    axes.set_title(
        f"gate {decimals(chosen.gate)}, fit {decimals(chosen.fit)}, "
        f"shortlist {chosen.shortlist}: "
        f"{_IN_WORDS[result.verdict.outcome]} (bars: 95 %)",
        fontsize=10,
        loc="left",
    )
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    buffer = io.BytesIO()
    # No date in the file: the same result gives the same bytes.
    kind = path.suffix.lower()[1:]
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(buffer, format=kind, metadata=metadata[kind])
    return write_whole(path, buffer.getvalue())
