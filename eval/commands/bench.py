"""`skill-router bench`: the router on labelled turns."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from router.cli import print_json
from router.commands.options import load_roster, load_router, router_options


@click.command()
@router_options
@click.option(
    "--requests",
    "requests_path",
    metavar="PATH",
    help="Labelled turns: a JSON array or JSON Lines of {text, gold}.  "
    "[default: those of the bundled roster]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--out", metavar="FILE", help="Write one JSON line per request.")
@click.option(
    "--encode-baseline",
    is_flag=True,
    help="Also time one SentenceTransformer.encode of the same texts (needs the extra `train`).",
)
def bench(
    roster_path: str | None,
    duplicates: str,
    thresholds: str | None,
    encoder: str | None,
    heads: str | None,
    cache: str | None,
    requests_path: str | None,
    as_json: bool,
    out: str | None,
    encode_baseline: bool,
) -> None:
    """Measure right, wrong, silent and needless suggestions on labelled turns."""
    from rich.console import Console
    from rich.progress import Progress

    from eval.bench import run_bench, summarize
    from eval.data import load_turns
    from eval.paths import requests_folder

    if roster_path is not None and requests_path is None:
        raise click.UsageError("--roster needs --requests: the labelled turns for that roster")
    roster = load_roster(roster_path, duplicates)
    path = requests_path or requests_folder() / "bundled.jsonl"
    turns = load_turns(path, roster.names)
    router = load_router(roster, thresholds, encoder, heads, cache)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("asking the router", total=len(turns))
        answers = run_bench(router, turns, lambda done, _: bar.update(task, completed=done))
    summary = summarize(router, answers)
    if encode_baseline:
        from eval.timing import encode_baseline_ms

        summary["encode_ms"] = encode_baseline_ms([turn.text for turn in turns])
        summary["latency_ratio"] = round(
            summary["latency_ms"]["p50"] / summary["encode_ms"]["p50"], 3
        )
    if out is not None:
        _write_lines(Path(out).expanduser(), [answer.record() for answer in answers])
    if as_json:
        print_json(summary)
    else:
        _print_table(summary, len(roster))


def _write_lines(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write JSON Lines, whole or not at all."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        Path(file.name).replace(path)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be written ({error.strerror})") from error


def _print_table(summary: dict[str, Any], skills: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(
        f"{summary['covered']} covered and {summary['uncovered']} uncovered requests, "
        f"{skills} skills"
    )
    table = Table(show_edge=False, pad_edge=False)
    for column, justify in (
        ("", "left"),
        ("count", "right"),
        ("share", "right"),
        ("95 %", "right"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for name, of in (
        ("right", "covered"),
        ("wrong", "covered"),
        ("silent", "covered"),
        ("needless", "uncovered"),
    ):
        r = summary["rates"][name]
        table.add_row(
            f"{name} (of {of})", str(r["count"]), f"{r['value']:.1%}",
            f"{r['low']:.1%} - {r['high']:.1%}",
        )  # fmt: skip
    console.print(table)
    console.print(
        f"wide rank   hit@1 {summary['hit_at_1']:.3f}   hit@3 {summary['hit_at_3']:.3f}   "
        f"hit@10 {summary['hit_at_10']:.3f}"
    )
    latency = summary["latency_ms"]
    line = f"latency     p50 {latency['p50']:.1f} ms   p95 {latency['p95']:.1f} ms"
    if "encode_ms" in summary:
        line += (
            f"   ({summary['latency_ratio']:.2f} of one SentenceTransformer.encode, p50 "
            f"{summary['encode_ms']['p50']:.1f} ms)"
        )
    console.print(line)
    kinds = Table(show_edge=False, pad_edge=False)
    columns = ("turns", "right", "wrong", "silent", "needless", "quiet")
    kinds.add_column("kind")
    for column in columns:
        kinds.add_column(column, justify="right")
    for kind, row in summary["by_kind"].items():
        kinds.add_row(kind, *(str(row.get(column, "")) for column in columns))
    console.print(kinds)
