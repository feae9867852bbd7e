"""`skill-router bench`: the router on labelled turns, and an agent that it advises."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from eval.commands.bench_agent import AgentOptions, agent_options
from eval.commands.outputs import check_extra, check_outputs
from router.cli import print_json
from router.commands.options import (
    JudgeChoice,
    judge_options,
    load_roster,
    load_router,
    router_options,
)

if TYPE_CHECKING:
    from eval.agent_bench import AgentRun
    from eval.agent_summary import AgentSummary
    from eval.bench import Answer
    from router.pipeline import Router


@click.command()
@router_options
@judge_options
@click.option(
    "--requests",
    "requests_path",
    metavar="PATH",
    help="Labelled turns: a JSON array or JSON Lines of {text, gold}.  "
    "[default: those of the bundled roster]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--out", metavar="FILE", help="Write one JSON line per request (and arm).")
@click.option("--html", metavar="FILE", help="Write one self-contained page.")
@click.option(
    "--encode-baseline",
    is_flag=True,
    help="Also time the index, and one SentenceTransformer.encode of the same texts (needs the "
    "extra `train`).",
)
@agent_options
def bench(
    roster_path: str | None,
    duplicates: str,
    thresholds: str | None,
    encoder: str | None,
    heads: str | None,
    reranker: str | None,
    cache: str | None,
    requests_path: str | None,
    as_json: bool,
    out: str | None,
    html: str | None,
    encode_baseline: bool,
    judge: JudgeChoice,
    **agent_settings: Any,
) -> None:
    """Measure right, wrong, silent and needless suggestions on labelled turns.

    With --agent, also measure what an agent loads without them, with them, and when it is told the
    right answer.
    """
    from eval.bench import run_bench, summarize
    from eval.cascade.command import judges_of_bench
    from eval.cascade.summary import summarize_cascade, summarize_usage
    from eval.commands.bench_session import AgentSession
    from eval.data import load_turns
    from eval.paths import requests_folder

    options = AgentOptions.model_validate(agent_settings)
    options.check()
    check_outputs(out, html)
    if html is not None:
        check_extra("--html", "report", "matplotlib", "jinja2")
    if encode_baseline:
        check_extra("--encode-baseline", "train", "sentence_transformers")
    if roster_path is not None and requests_path is None:
        raise click.UsageError("--roster needs --requests: the labelled turns for that roster")
    roster = load_roster(roster_path, duplicates)
    path = requests_path or requests_folder() / "bundled.jsonl"
    turns = load_turns(path, roster.names)
    judge, second = judges_of_bench(judge, turns)
    with ExitStack() as stack:
        session = None
        if options.agent is not None:  # opened first: a wrong key should not cost the router's time
            session = stack.enter_context(AgentSession(options, roster, turns))
        router = load_router(roster, thresholds, encoder, heads, cache, reranker, judge, second)
        answers = _with_bar("asking the router", lambda tell: run_bench(router, turns, tell))
        summary = {**summarize(router, answers), **summarize_usage(answers)}
        summary.update(summarize_cascade(answers))
        if encode_baseline:
            from eval.timing import encode_baseline_ms, index_seconds

            summary["index_s"] = index_seconds(roster, encoder)
            summary["encode_ms"] = encode_baseline_ms([turn.text for turn in turns])
            summary["latency_ratio"] = round(
                summary["latency_ms"]["p50"] / summary["encode_ms"]["p50"], 3
            )
        run, agent = (None, None) if session is None else session.run(answers, _with_bar)
    if router.thresholds.requests_digest == summary["digests"]["requests"]:
        click.echo(
            "note: the thresholds were chosen on these very requests, which flatters them; "
            "skill-router tune prints figures on requests held out",
            err=True,
        )
    if out is not None:
        _write_lines(out, [answer.record() for answer in answers] if run is None else run.records())
    if html is not None:
        paid = judge.name not in ("local", "cascade")
        _write_page(html, router, answers, summary, run, agent, ask=not paid)
    if as_json:
        print_json(summary if agent is None else {**_as_json(agent), "router": summary})
    else:
        _print(summary, len(roster), agent)
    if agent is not None and agent.unanswered:
        raise click.ClickException(_unanswered(agent))


def _with_bar(what: str, work: Callable[[Callable[[int, int], None]], Any]) -> Any:
    """Do some work behind a progress bar, on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=None)
        return work(lambda done, total: bar.update(task, completed=done, total=total))


def _write_lines(path: str, records: Sequence[dict[str, Any]]) -> None:
    from eval.files import write_whole

    # As ASCII, since a text may hold what UTF-8 cannot.
    write_whole(path, "".join(json.dumps(record) + "\n" for record in records))


def _write_page(
    path: str,
    router: Router,
    answers: Sequence[Answer],
    summary: dict[str, Any],
    run: AgentRun | None,
    agent: AgentSummary | None,
    ask: bool,
) -> None:
    """Write the page; a judge that is paid is not asked again for it (`ask`)."""
    from eval.files import write_whole
    from eval.report.page import Report, render_page
    from eval.tune.stages import collect, past_the_gate

    turns, used = [answer.turn for answer in answers], router.thresholds
    if ask:
        outputs = _with_bar(
            "asking both stages",
            lambda tell: collect(router, turns, used.shortlist, (used.excerpt,), tell),
        )
    else:
        outputs = past_the_gate(router, turns, [answer.suggestion for answer in answers])
    title = "Router benchmark" if agent is None else "Agent benchmark"
    report = Report(
        title, len(router.roster), summary, answers, outputs, used, run, agent, whole=ask
    )
    write_whole(path, render_page(report))


def _as_json(agent: AgentSummary) -> dict[str, Any]:
    return {"agent": agent.model_dump(mode="json")}


def _print(summary: dict[str, Any], skills: int, agent: AgentSummary | None) -> None:
    from eval.report.table import print_agent, print_router

    if agent is not None:
        print_agent(agent)
        click.echo("\nthe router alone")
    print_router(summary, skills)
    if "cascade" in summary:
        from eval.cascade.summary import cascade_line

        click.echo(cascade_line(summary["cascade"]))


def _unanswered(agent: AgentSummary) -> str:
    total = sum(agent.unanswered.values())
    reasons = "; ".join(f"{count}: {why}" for why, count in list(agent.unanswered.items())[:3])
    return f"{total} turns are unanswered and count in no rate ({reasons})"
