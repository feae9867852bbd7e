"""`skill-router roster doctor`: what is wrong with the descriptions of a roster."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eval.bench import Answer
    from eval.doctor.records import Finding, Report
    from roster import Roster


@click.command()
@click.option("--roster", "path", metavar="PATH", help="A folder searched for SKILL.md, or a .json "
              "or .jsonl file.  [default: bundled]")  # fmt: skip
@click.option("--duplicates", type=click.Choice(["error", "first", "namespace"]), default="error",
              show_default=True, help="What to do with skills of one name.")  # fmt: skip
@click.option("--width", type=click.IntRange(min=4), default=60, show_default=True,
              help="Characters of a description in the index.")  # fmt: skip
@click.option("--body-tokens", type=click.IntRange(min=1), default=5_000, show_default=True,
              help="Budget of a body.")  # fmt: skip
@click.option("--requests", "requests_path", metavar="PATH", help="Labelled requests: also report "
              "misses, false loads and confusions.")  # fmt: skip
@click.option("--skill", metavar="NAME", help="Only what concerns this skill; with --requests, "
              "also the phrasings its description lacks.")  # fmt: skip
@click.option("--fail-on", multiple=True, metavar="WHAT", help="Exit with 1 on findings of this "
              "severity or worse (error, warning, note) or of this kind; repeat it.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif", "github"]),
              default="text", show_default=True)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--out", metavar="FILE", help="Write the report there.")
@click.option("--html", metavar="FILE", help="Write a map of the roster there.")
@click.option("--most", type=click.IntRange(min=1), default=5, show_default=True,
              help="Findings of each kind that the text shows.")  # fmt: skip
@click.option("--cache", metavar="DIR", help="Folder of the index cache, for --requests.")
def doctor(
    path: str | None,
    duplicates: str,
    width: int,
    body_tokens: int,
    requests_path: str | None,
    skill: str | None,
    fail_on: tuple[str, ...],
    form: str,
    as_json: bool,
    out: str | None,
    html: str | None,
    most: int,
    cache: str | None,
) -> None:
    """Find descriptions that cannot be told apart, say too little, or are never found."""
    from eval.doctor.examine import examine
    from eval.doctor.records import Settings, in_order
    from eval.files import write_whole
    from roster.cli import load
    from router.local.encoder import load_encoder

    _check_fail_on(fail_on)
    loaded = load(path, duplicates)  # type: ignore[arg-type]  # click has checked the choice
    if skill is not None and skill not in loaded:
        raise click.ClickException(f"--skill: {_no_such(loaded, skill)}")
    settings = Settings(width=width, body_tokens=body_tokens)
    report, vectors = examine(loaded, load_encoder(), settings)
    answers: Sequence[Answer] = ()
    if requests_path is not None:
        from eval.doctor.labels import label_findings, label_report

        answers = _ask(loaded, requests_path, cache)
        found = in_order([*report.findings, *label_findings(loaded, answers)])
        report = report.model_copy(update={"findings": found, "labels": label_report(answers)})
    if html is not None:
        from eval.doctor.map import render_map

        try:
            page = render_map(loaded, report, vectors)
        except ImportError as error:
            raise click.ClickException(
                f"--html needs jinja2 ({error}): pip install 'skill-router[report]'"
            ) from None
        write_whole(html, page)
    if skill is not None:
        mine = tuple(f for f in report.findings if skill in (f.skill, f.other))
        report = report.model_copy(update={"findings": mine})
    text = _rendered(report, "json" if as_json else form, most)
    if skill is not None and answers and form == "text" and not as_json:
        text += _phrasings(loaded, answers, skill)
    if out is not None:
        write_whole(out, text)
    else:
        click.echo(text, nl=False)
    if any(_fails(finding, fail_on) for finding in report.findings):
        sys.exit(1)


def _check_fail_on(wanted: Sequence[str]) -> None:
    from eval.doctor.records import RULES, SEVERITIES

    for what in wanted:
        if what not in SEVERITIES and what not in RULES:
            raise click.UsageError(
                f"--fail-on {what!r}: give one of {', '.join([*SEVERITIES, *RULES])}"
            )


def _fails(finding: Finding, wanted: Sequence[str]) -> bool:
    from eval.doctor.records import SEVERITIES

    at = SEVERITIES.index(finding.severity)
    return any(
        at <= SEVERITIES.index(what) if what in SEVERITIES else finding.code == what
        for what in wanted
    )


def _no_such(loaded: Roster, name: str) -> str:
    try:
        loaded[name]
    except KeyError as error:
        return str(error.args[0])
    return name


def _ask(loaded: Roster, requests_path: str, cache: str | None) -> list[Answer]:
    from eval.bench import run_bench
    from eval.data import load_turns
    from router.pipeline import Router

    turns = load_turns(requests_path, loaded.names)
    answers = run_bench(Router.load(loaded, cache=cache), turns)
    failed = next((a for a in answers if a.suggestion.reason.value == "router_error"), None)
    if failed is not None:
        raise click.ClickException(f"the router failed: {failed.suggestion.detail}")
    return answers


def _rendered(report: Report, form: str, most: int) -> str:
    if form == "json":
        record: dict[str, Any] = {"counts": report.counts, **report.model_dump(mode="json")}
        return json.dumps(record, indent=2) + "\n"
    if form == "sarif":
        from importlib.metadata import version

        from eval.doctor.machine import as_sarif

        return json.dumps(as_sarif(report, version("skill-router")), indent=2) + "\n"
    if form == "github":
        from eval.doctor.machine import as_annotations

        return "".join(f"{line}\n" for line in as_annotations(report.findings))
    from eval.doctor.text import as_lines

    return "".join(f"{line}\n" for line in as_lines(report, most))


def _phrasings(loaded: Roster, answers: Sequence[Answer], skill: str) -> str:
    from eval.doctor.labels import missing_phrasings
    from roster.text import one_line, visible

    rows = missing_phrasings(loaded, answers, skill)
    if not rows:
        return f"\nno request of {skill} is missed\n"
    lines = [f"\nphrasings of users that {skill} misses, with the words its description lacks:"]
    for text, words in rows:
        lines.append(f"  {visible(one_line(text))}\n      + {', '.join(words) or '(none)'}")
    return "\n".join(lines) + "\n"
