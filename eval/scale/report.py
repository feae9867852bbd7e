"""The table, the verdicts and the figure of the sizes measured."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

Row = dict[str, Any]

MOST_RSS_MIB, MOST_P50_MS = 1_536, 80.0
BARS = {
    "memory": f"resident memory at the largest size is at most {MOST_RSS_MIB:,} MiB",
    "time": f"the median of suggest at the largest size is at most {MOST_P50_MS:g} ms",
    "growth": "from size to size, time grows no faster than the number of skills",
}


def table(rows: Sequence[Row]) -> str:
    """A Markdown table, one line a size."""
    lines = [
        "| skills | Hit@1 | Hit@10 | version@1 | version@10 | candidate | p50 ms | p95 ms "
        "| CPU p50 ms | memory MiB | disk MiB | index s | open s |",
        f"|{' ---: |' * 13}",
    ]
    for row in rows:
        latency = row["latency_ms"]
        cells = (
            f"{row['size']:,}",
            f"{row['hit_at_1']:.3f}",
            f"{row['hit_at_10']:.3f}",
            f"{row['version_at_1']:.3f}",
            f"{row['version_at_10']:.3f}",
            f"{row['candidate']:.3f}",
            f"{latency['p50']:.1f}",
            f"{latency['p95']:.1f}",
            f"{row['cpu_ms']['p50']:.1f}",
            f"{row['rss_mib']:,}",
            "" if row.get("disk_mib") is None else f"{row['disk_mib']:,}",
            f"{row['index_s']:,.0f}",
            f"{row['open_s']:.1f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdicts(rows: Sequence[Row]) -> dict[str, bool]:
    """Whether each bar of `BARS` is met."""
    largest = rows[-1]
    steps = pairwise(rows)
    grown = all(
        later["latency_ms"]["p50"] / earlier["latency_ms"]["p50"] <= later["size"] / earlier["size"]
        for earlier, later in steps
    )
    return {
        "memory": largest["rss_mib"] <= MOST_RSS_MIB,
        "time": largest["latency_ms"]["p50"] <= MOST_P50_MS,
        "growth": grown,
    }


def figure(rows: Sequence[Row]) -> str:
    """Hits, time and memory against the number of skills, as SVG text."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from eval.report.figures import BLUE, GRID, INK, MUTED, ORANGE

    sizes = [row["size"] for row in rows]
    with mpl.rc_context({"svg.hashsalt": "skill-router", "svg.fonttype": "none"}):
        drawn = Figure(figsize=(9.6, 3.2), layout="constrained")
        hits, time, memory = drawn.subplots(1, 3)
        for key, label, colour, away in (
            ("hit_at_10", "Hit@10", BLUE, 7),
            ("hit_at_1", "Hit@1", ORANGE, -14),
        ):
            hits.plot(sizes, [row[key] for row in rows], "o-", color=colour, label=label)
            versions = [row[key.replace("hit", "version")] for row in rows]
            hits.plot(sizes, versions, "--", color=colour, lw=1, label="or a version of it")
            for row in rows:
                hits.annotate(
                    f"{row[key]:.2f}", (row["size"], row[key]), (0, away),
                    textcoords="offset points", ha="center", fontsize=8, color=INK,
                )  # fmt: skip
        hits.set_ylim(0, 1.1)
        hits.set_title("wide rank, covered requests", loc="left", fontsize=10, color=INK)
        for key, colour in (("p95", ORANGE), ("p50", BLUE)):
            values = [row["latency_ms"][key] for row in rows]
            time.plot(sizes, values, "o-", color=colour, label=key)
        time.axhline(MOST_P50_MS, color=MUTED, ls="--", lw=0.8)
        time.set_ylim(bottom=0)
        time.set_title("suggest, ms", loc="left", fontsize=10, color=INK)
        memory.plot(sizes, [row["rss_mib"] for row in rows], "o-", color=BLUE, label="resident")
        memory.axhline(MOST_RSS_MIB, color=MUTED, ls="--", lw=0.8)
        memory.set_ylim(bottom=0)
        memory.set_title("memory, MiB", loc="left", fontsize=10, color=INK)
        for axes in (hits, time, memory):
            axes.set_xscale("log")
            axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axes.minorticks_off()
            axes.grid(color=GRID, linewidth=0.8)
            axes.set_xlabel("skills", fontsize=9, color=MUTED)
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False, fontsize=8)
        text = io.StringIO()
        drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()
