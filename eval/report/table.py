"""Results as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eval.agent_summary import AgentSummary
from eval.metrics import Rate
from router.turn import readable


def print_router(summary: dict[str, Any], skills: int) -> None:
    """Print the router's own numbers.

    Args:
        summary: Result of `eval.bench.summarize`, perhaps with `encode_ms` and `latency_ratio`.
        skills: Skills of the roster.
    """
    console = _console()
    console.print(
        f"{summary['covered']} covered and {summary['uncovered']} uncovered requests, "
        f"{skills} skills"
    )
    rows = []
    for name, of in (
        ("right", "covered"),
        ("wrong", "covered"),
        ("silent", "covered"),
        ("needless", "uncovered"),
    ):
        r = summary["rates"][name]
        interval = f"{r['low']:.1%} - {r['high']:.1%}"
        rows.append((f"{name} (of {of})", r["count"], f"{r['value']:.1%}", interval))
    _table(console, ("", "count", "share", "95 %"), rows)
    console.print(
        f"wide rank   hit@1 {summary['hit_at_1']:.3f}   hit@3 {summary['hit_at_3']:.3f}   "
        f"hit@10 {summary['hit_at_10']:.3f}"
    )
    latency = summary["latency_ms"]
    line = (
        f"latency     p50 {latency['p50']:.1f} ms   p95 {latency['p95']:.1f} ms   "
        f"(wide rank alone: p50 {summary['rank_latency_ms']['p50']:.1f} ms)"
    )
    if "encode_ms" in summary:
        encode, index = summary["encode_ms"], summary["index_s"]
        line += (
            f"\nencode      p50 {encode['p50']:.1f} ms for one SentenceTransformer.encode of the "
            f"same texts; ratio {summary['latency_ratio']:.2f}"
            f"\nindex       {index['build']:.1f} s to build, {index['cache']:.3f} s from the cache"
        )
    console.print(line)
    columns = ("turns", "right", "wrong", "silent", "needless", "quiet")
    _table(
        console,
        ("kind", *columns),
        [
            (kind, *(row.get(column, "") for column in columns))
            for kind, row in summary["by_kind"].items()
        ],
    )
    if len(summary["by_lang"]) > 1:
        _print_languages(console, summary["by_lang"])


def _print_languages(console: Console, languages: dict[str, dict[str, int | float]]) -> None:
    """One line a language; a share of nothing is "-"."""
    rows = []
    for language, row in languages.items():
        shares = [
            _share(row.get(name, 0), row["uncovered" if name == "needless" else "covered"])
            for name in ("right", "wrong", "silent", "needless")
        ]
        hits = [f"{row[f'hit_at_{k}']:.3f}" if row["covered"] else "-" for k in (1, 3)]
        rows.append((language, row["covered"], row["uncovered"], *shares, *hits))
    columns = ("covered", "uncovered", "right", "wrong", "silent", "needless", "hit@1", "hit@3")
    _table(console, ("language", *columns), rows)


def _share(count: float, total: float) -> str:
    return f"{count / total:.1%}" if total else "-"


def print_agent(summary: AgentSummary) -> None:
    """Print the numbers of an agent run."""
    console = _console()
    console.print(
        Text(f"agent {readable(summary.model)}: {summary.live} live requests; ")
        + Text(f"{summary.covered} covered and {summary.uncovered} uncovered turns an arm"),
        soft_wrap=True,
    )
    arms = summary.arms.items()
    lost = any(arm.unanswered for _, arm in arms)
    _table(
        console,
        (
            "arm",
            "wrong loads",
            "none",
            "same/other cat.",
            "needless loads",
            *(["unanswered"] * lost),
        ),
        [
            (
                name,
                _rate(arm.wrong_load),
                arm.wrong_none,
                f"{arm.same_category}/{arm.other_category + arm.unknown_name}",
                _rate(arm.needless_load),
                *([arm.unanswered] * lost),
            )
            for name, arm in arms
        ],
    )
    _table(
        console,
        ("arm against another", "wrong fixed/broke", "p", "needless fixed/broke", "p"),
        [
            (
                f"{pair.second} / {pair.first}",
                f"{pair.wrong_load.only_second}/{pair.wrong_load.only_first}",
                f"{pair.wrong_load.p:.2g}",
                f"{pair.needless_load.only_second}/{pair.needless_load.only_first}",
                f"{pair.needless_load.p:.2g}",
            )
            for pair in summary.pairs
        ],
    )
    _table(
        console,
        ("arm", "input", "cached", "to cache", "output", "US $", "p50/p95 ms", "live/kept"),
        [
            (
                name,
                f"{arm.usage.input:,}",
                f"{arm.usage.cache_read:,}",
                f"{arm.usage.cache_write:,}",
                f"{arm.usage.output:,}",
                "-" if arm.cost_usd is None else f"{arm.cost_usd:.2f}",
                _times(arm.latency_ms),
                f"{arm.live}/{arm.replayed}",
            )
            for name, arm in arms
        ],
    )
    if summary.price is not None:
        console.print(Text(readable(str(summary.price), 600)), end="\n\n")
    elif any(arm.usage.total for _, arm in arms):
        console.print("US $: no price is known for this model; give --price IN,OUT", end="\n\n")
    kinds = sorted({kind for arm in summary.arms.values() for kind in arm.by_kind})
    _table(
        console,
        ("errors by kind", *summary.arms),
        [
            (kind, *(_errors(arm.by_kind.get(kind, {})) for arm in summary.arms.values()))
            for kind in kinds
        ],
    )
    _table(
        console,
        ("arm", "told", "turns", "right loads", "any load"),
        [
            (name, told, f.turns, f.right if told in ("right", "wrong", "silent") else "", f.loads)
            for name, arm in arms
            for told, f in arm.followed.items()
        ],
    )


def _errors(row: dict[str, int]) -> str:
    wrong = sum(row.get(name, 0) for name in ("wrong", "none", "needless"))
    return f"{wrong} of {sum(row.values())}"


def _rate(rate: Rate) -> str:
    """The share in per cent, its interval in brackets."""
    if not rate.total:
        return "-"
    return f"{rate.value:.1%} ({100 * rate.low:.1f}-{100 * rate.high:.1f})"


def _times(latency: dict[str, float] | None) -> str:
    return "-" if latency is None else f"{latency['p50']:.0f}/{latency['p95']:.0f}"


def _console() -> Console:
    return Console(highlight=False)


def _table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Names of arms, kinds and models are printed as they are, never as markup."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for at, column in enumerate(columns):
        table.add_column(Text(readable(column)), justify="right" if at else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(readable(str(cell))) for cell in row))
    if table.row_count:
        console.print(table)
        console.print()
