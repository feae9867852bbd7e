"""The figures of the page, as SVG text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from eval.metrics import Rate, Reliability
from router.turn import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, BLUE, ORANGE, GREY = (
    "#1a1a19", "#6b6a65", "#e3e2dc", "#2a6fbb", "#d1571f", "#8f8e88",
)  # fmt: skip
_LONGEST_LABEL = 18
_WIDE, _HALF = 10.6, 5.1
"""Inches: a card of the page, and one of two side by side."""
_ORDER = (BLUE, ORANGE, "#3f8f5b", "#8a5bb5", "#b5892b")


def bars(
    title: str,
    arms: list[str],
    wrong: list[Rate],
    needless: list[Rate],
    ceiling: str | None = None,
) -> str:
    """Both error rates of each arm, side by side, with their intervals.

    Args:
        title: What was measured.
        arms: Names of the arms.
        wrong: Wrong loads of each.
        needless: Needless loads of each.
        ceiling: Arm that is told the right answer: grey and hatched, a bound and no competitor.

    Returns:
        The figure as an ``<svg>`` element.
    """
    from matplotlib.ticker import MaxNLocator

    figure = _figure(_WIDE, 3.9)
    heading = figure.suptitle(readable(title, 100), x=0.01, ha="left", color=INK, fontsize=11)
    heading.set_parse_math(False)
    panels = (("wrong loads", "covered", wrong), ("needless loads", "uncovered", needless))
    colours = iter(_ORDER * (1 + len(arms) // len(_ORDER)))
    fills = [GREY if arm == ceiling else next(colours) for arm in arms]
    for axes, (title, of, rates) in zip(figure.subplots(1, 2), panels, strict=True):
        _plain(axes)
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        for at, (arm, r, fill) in enumerate(zip(arms, rates, fills, strict=True)):
            if not r.total:
                continue
            axes.bar(
                at, r.value, 0.58, color=fill, hatch="///" if arm == ceiling else "",
                edgecolor="white", linewidth=1.0,
            )  # fmt: skip
            axes.errorbar(
                at, r.value, yerr=[[r.value - r.low], [r.high - r.value]], color=INK, lw=0.9,
                capsize=3,
            )  # fmt: skip
            axes.annotate(
                f"{r.value:.1%}", (at, r.high), (0, 3), textcoords="offset points", ha="center",
                color=INK, fontsize=9,
            )  # fmt: skip
        axes.set_xticks(range(len(arms)), [readable(arm, _LONGEST_LABEL) for arm in arms])
        for label in axes.get_xticklabels():
            label.set_parse_math(False)
        total = max((r.total for r in rates), default=0)
        axes.set_title(f"{title}, of {total} {of} requests", loc="left", color=INK, fontsize=10)
        top = max((r.high for r in rates if r.total), default=1.0)
        # Room for the figure above the highest bar, without a mark above 100 %.
        ticks = MaxNLocator(5).tick_values(0.0, top)
        axes.set_yticks([tick for tick in ticks if tick <= 1.0])
        axes.set_ylim(0.0, top * 1.15)
        axes.yaxis.set_major_formatter(_percent())
        axes.set_ylabel("lower is better", color=MUTED, fontsize=9)
    return _svg(figure, "Wrong and needless loads of each arm")


def reliability_diagram(diagram: Reliability, stated: str, seen: str) -> str:
    """Stated probability against observed share, and below it how many cases state it.

    Args:
        diagram: The bins and errors.
        stated: What the probability claims, for the horizontal axis.
        seen: What was observed, for the vertical one.
    """
    figure = _figure(_HALF, 4.6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    for axes in (upper, lower):
        _plain(axes)
    upper.plot([0, 1], [0, 1], color=GREY, lw=1.0, ls="--")
    for bin_ in diagram.bins:
        share = bin_.seen
        upper.errorbar(
            bin_.stated, share.value, yerr=[[share.value - share.low], [share.high - share.value]],
            fmt="o", color=BLUE, ms=5, lw=0.9, capsize=2, clip_on=False,
        )  # fmt: skip
        lower.bar((bin_.low + bin_.high) / 2, bin_.count, (bin_.high - bin_.low) * 0.9, color=BLUE)
    upper.set_xlim(0, 1)
    upper.set_ylim(0, 1)
    upper.grid(color=GRID, linewidth=0.8)
    upper.set_ylabel(seen, color=MUTED, fontsize=9)
    upper.set_title(
        f"ECE {diagram.ece:.3f}, Brier score {diagram.brier:.3f}, {diagram.cases:,} cases",
        loc="left", color=INK, fontsize=10,
    )  # fmt: skip
    lower.set_xlabel(stated, color=MUTED, fontsize=9)
    lower.set_ylabel("cases", color=MUTED, fontsize=9)
    return _svg(figure, f"Reliability diagram: {stated}")


def trade_off(
    needless: list[float], right: list[float], now: tuple[float, float], label: str
) -> str:
    """The best share of right suggestions for each share of needless ones, over all thresholds.

    Args:
        needless: Needless suggestions at the points of the front, 0..1, ascending.
        right: Right suggestions there.
        now: Needless and right suggestions at the thresholds in use.
        label: The thresholds in use.
    """
    figure = _figure(_WIDE, 4.6)
    axes = figure.subplots()
    _plain(axes)
    axes.grid(color=GRID, linewidth=0.8)
    axes.plot(
        needless, right, color=BLUE, lw=1.6, drawstyle="steps-post",
        label="best pair of gate and fit thresholds",
    )  # fmt: skip
    axes.plot(*now, "D", color=ORANGE, ms=7, ls="", label=f"in use: {label}")
    axes.set_xlim(left=0.0)
    axes.set_xlabel("needless suggestions, share of uncovered requests", color=MUTED, fontsize=9)
    axes.set_ylabel("right suggestions, share of covered requests", color=MUTED, fontsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_percent())
    # Above the curve, where it can hide nothing of it, however wide the browser's font is.
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2,
                borderaxespad=0.2, labelcolor=INK)  # fmt: skip
    return _svg(figure, "Right against needless suggestions over all thresholds")


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), facecolor="white", layout="constrained")


def _percent() -> Any:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0)  # decimals as the distance of the marks needs them


def _plain(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)
    axes.tick_params(colors=GREY, labelcolor=MUTED, labelsize=9)
    axes.set_axisbelow(True)


def _svg(figure: Figure, title: str) -> str:
    """A figure as an element that can stand in a page: text stays text, no date, no prologue."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    # The salt makes ids depend on the content alone: equal results give equal bytes.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Title": title})
    text = buffer.getvalue()
    return text[text.index("<svg") :].replace("<svg ", '<svg role="img" ', 1)
