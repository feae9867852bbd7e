"""`skill-router skills`: versions of skills, and the decisions about them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from eval.commands.store_options import (
    add_shelf_commands,
    case_names,
    db_option,
    json_option,
    load_callable,
    open_store,
    print_evaluation,
)

if TYPE_CHECKING:
    from eval.evaluators import RequestsEvaluator
    from roster.store import Staging, Store


@click.group()
def skills() -> None:
    """Stage, evaluate and activate versions of skills."""


add_shelf_commands(skills, lambda store: store.skills)


@skills.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@db_option
@click.option("--version", "label", help="The version, for a SKILL.md that names none.")
@json_option
def stage(paths: tuple[str, ...], db: str | None, label: str | None, as_json: bool) -> None:
    """Keep a version of each PATH (a SKILL.md folder or a .toml file), inactive."""
    from roster.store import read_source

    stagings = [read_source(path, label) for path in paths]
    reports: list[dict[str, Any]] = []
    try:
        with open_store(db, create=True) as store:
            for staging in stagings:
                reports.append(_staged(staging, store.skills.stage(staging)))
    finally:
        # What was staged before a refusal is staged, and the user is told.
        if as_json:
            click.echo(json.dumps(reports, indent=2))
        else:
            for report in reports:
                _print_staged(report)


def _staged(staging: Staging, new: bool) -> dict[str, Any]:
    record = staging.record
    return {
        "name": record.name,
        "version": record.version,
        "new": new,
        "content_sha256": record.digest,
        "source_sha256": staging.source_sha256,
        "files": [file["path"] for file in record.model_dump()["files"]],
        "unlisted": list(staging.unlisted),
        "missing": list(staging.missing),
        "repairs": list(staging.repairs),
    }


def _print_staged(report: dict[str, Any]) -> None:
    from roster.text import visible

    state = "staged" if report["new"] else "is staged already, unchanged"
    click.echo(f"{report['name']} {report['version']} {state}")
    click.echo(f"  content {report['content_sha256']}\n  source  {report['source_sha256']}")
    for key, what in (
        ("files", "part of it"),
        ("unlisted", "not part of it"),
        ("missing", "linked to and missing"),
        ("repairs", "repaired"),
    ):
        for path in report[key]:
            click.echo(f"  {what}: {visible(path)}")


@skills.command()
@click.argument("name")
@click.argument("version")
@db_option
@click.option("--cases", required=True, metavar="FILE", help="Labelled requests; with --evaluator, "
              "names of the required cases.")  # fmt: skip
@click.option("--roster", metavar="PATH", help="Skills beside those of the store.")
@click.option("--evaluator", metavar="MODULE:NAME", help="A callable of your own: takes the "
              "candidate and the snapshot, answers case names with True or False.")  # fmt: skip
@click.option("--agent", metavar="NAME", help="Ask an agent instead of the router: claude:MODEL or "
              "scripted.")  # fmt: skip
@click.option("--min-right", type=click.FloatRange(0, 1), default=0.5, show_default=True,
              help="Least share of its own requests that must load it.")  # fmt: skip
@click.option("--max-needless", type=click.IntRange(min=0), default=0, show_default=True,
              help="Most requests without a skill that may newly load it.")  # fmt: skip
@click.option("--variant", "variants", multiple=True, metavar="PATH",
              help="Another wording of the candidate, for the spread; repeat it.")  # fmt: skip
@click.option("--thresholds", metavar="FILE", help="A TOML file.  [default: those shipped]")
@click.option("--cache", metavar="DIR", help="Folder of the index cache.")
@json_option
def activate(
    name: str,
    version: str,
    db: str | None,
    cases: str,
    roster: str | None,
    evaluator: str | None,
    agent: str | None,
    min_right: float,
    max_needless: int,
    variants: tuple[str, ...],
    thresholds: str | None,
    cache: str | None,
    as_json: bool,
) -> None:
    """Evaluate a staged version, and make it the active one if every case passes."""
    from eval.data import load_turns
    from eval.evaluators import RequestsEvaluator
    from roster import Roster
    from roster.cli import load
    from roster.store import read_source

    if evaluator is not None and (agent or roster or variants or thresholds):
        raise click.UsageError("--evaluator excludes --agent, --roster, --variant, --thresholds")
    with open_store(db) as store:
        store.skills.row(name, version)
        if evaluator is not None:
            required = case_names(cases)
            answered = store.skills.activate(
                name, version, evaluate=load_callable(evaluator), required=required,
                source={"evaluator": evaluator},
            )  # fmt: skip
            print_evaluation(name, version, answered, as_json)
            return
        base = Roster() if roster is None else load(roster)
        wordings = [read_source(path, "variant").record for path in variants]
        common: dict[str, Any] = {
            "turns": load_turns(cases),
            "base": base,
            "name": name,
            "min_right": min_right,
            "max_needless": max_needless,
            "variants": wordings,
        }
        if agent is None:
            from eval.asking import local_ask

            ask, about = local_ask(thresholds, cache)
            judged = RequestsEvaluator(ask=ask, about=about, **common)
            _activate(store, name, version, judged, as_json)
            return
        from eval.agent_asking import AgentAsk
        from eval.agents.store import ResultStore
        from eval.commands.bench_agent import AgentOptions

        options = AgentOptions.model_validate(
            {**dict.fromkeys(AgentOptions.model_fields), "agent": agent, "batch": False}
        )
        options.check()
        with ResultStore(options.store_path()) as kept:
            asking = AgentAsk(options.make_agent(kept), kept)
            about = {"asked": f"agent {options.model}"}
            judged = RequestsEvaluator(ask=asking, about=about, **common)
            _activate(store, name, version, judged, as_json)


def _activate(
    store: Store, name: str, version: str, judged: RequestsEvaluator, as_json: bool
) -> None:
    evaluation = store.skills.activate(name, version, evaluate=judged, required=judged.required)
    print_evaluation(name, version, evaluation, as_json)


@skills.command()
@db_option
@json_option
def snapshot(db: str | None, as_json: bool) -> None:
    """Print what is active, with the digest over it."""
    with open_store(db) as store:
        taken = store.snapshot()
    rows = [(row.kind, row.name, row.version, row.content_sha256) for row in taken.rows]
    if as_json:
        click.echo(json.dumps({"digest": taken.digest, "active": rows}, indent=2))
        return
    click.echo(taken.digest)
    for kind, name, version, digest in rows:
        click.echo(f"{kind} {name} {version}  {digest[:12]}")


@skills.command()
@db_option
@click.option("--allowed-tool", "tools", multiple=True, metavar="NAME", help="Repeat it.")
@click.option("--byte-budget", type=click.IntRange(min=0), default=16_384, show_default=True)
def items(db: str | None, tools: tuple[str, ...], byte_budget: int) -> None:
    """Print the active skills that are eligible, whole, as items of a context."""
    from roster.store import skill_items

    with open_store(db) as store:
        active = store.snapshot().skills
    click.echo(json.dumps(skill_items(active, tools, byte_budget), indent=2))


@skills.command()
@db_option
def check(db: str | None) -> None:
    """Prove that the store is whole; exit with 1 if it is not."""
    with open_store(db) as store:
        problems = store.check()
        count = len(store.skills.versions()) if not problems else 0
        path = store.path
    for problem in problems:
        click.echo(f"error: {problem} [{problem.code}]")
    if problems:
        sys.exit(1)
    click.echo(f"{path}: whole; {count} versions of skills, and the log leads to what is active")


@skills.command()
@click.argument("path")
@db_option
def export(path: str, db: str | None) -> None:
    """Write all versions, files and decisions to one file."""
    with open_store(db) as store:
        count = store.export(path)
    click.echo(f"{count} versions written to {path}")


@skills.command("import")
@click.argument("path")
@db_option
def import_(path: str, db: str | None) -> None:
    """Take in an export, all of it or nothing."""
    with open_store(db, create=True) as store:
        count = store.import_(path)
    click.echo(f"{count} versions added")
