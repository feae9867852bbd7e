"""What the commands `skills` and `profiles` share: the store, states, events."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from roster.store import Evaluation, Event, Shelf, Store

Command = Callable[..., Any]


def db_option(command: Command) -> Command:
    """Add ``--db PATH``."""
    return click.option(
        "--db", metavar="PATH", help="The store.  [default: SKILL_ROUTER_DB, else the user's]"
    )(command)


def json_option(command: Command) -> Command:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def open_store(db: str | None, create: bool = False) -> Store:
    """The store of ``--db``."""
    from roster.store import Store, default_path

    return Store(db or default_path(), create=create)


def add_shelf_commands(group: click.Group, shelf_of: Callable[[Store], Shelf[Any]]) -> None:
    """Add the commands that every kind of record has: list, show, log, diff, rollback, retire."""

    @group.command("list")
    @click.argument("name", required=False)
    @db_option
    @json_option
    def list_versions(name: str | None, db: str | None, as_json: bool) -> None:
        """List the versions, of NAME or of all."""
        with open_store(db) as store:
            rows = shelf_of(store).versions(name)
        if as_json:
            fields = {"name", "version", "content_sha256", "source_sha256", "staged_at"}
            click.echo(
                json.dumps(
                    [{**row.model_dump(include=fields), "state": row.state} for row in rows],
                    indent=2,
                )
            )
            return
        for row in rows:
            click.echo(f"{row.name} {row.version}  {row.state:8} {row.content_sha256[:12]}  "
                       f"{row.staged_at}")  # fmt: skip

    @group.command()
    @click.argument("name")
    @click.argument("version")
    @db_option
    def show(name: str, version: str, db: str | None) -> None:
        """Print one version as JSON."""
        with open_store(db) as store:
            row = shelf_of(store).row(name, version)
        click.echo(json.dumps({"state": row.state, "content_sha256": row.content_sha256,
                               "source_sha256": row.source_sha256,
                               "content": json.loads(row.content)}, indent=2))  # fmt: skip

    @group.command()
    @click.argument("name", required=False)
    @db_option
    @click.option("--last", type=click.IntRange(min=1), help="Only the newest ones.")
    @json_option
    def log(name: str | None, db: str | None, last: int | None, as_json: bool) -> None:
        """Print the decisions, of NAME or all."""
        with open_store(db) as store:
            events = shelf_of(store).log(name, last)
        if as_json:
            click.echo(json.dumps([event.model_dump() for event in events], indent=2))
            return
        for event in events:
            click.echo(_line(event))

    @group.command()
    @click.argument("name")
    @click.argument("before")
    @click.argument("after")
    @db_option
    def diff(name: str, before: str, after: str, db: str | None) -> None:
        """Print what changed between two versions of NAME."""
        from roster.store import diff_versions

        with open_store(db) as store:
            shelf = shelf_of(store)
            lines = diff_versions(shelf.row(name, before), shelf.row(name, after))
        for line in lines:
            click.echo(line)

    @group.command()
    @click.argument("name")
    @db_option
    @click.option("--reason", default="", help="Why; kept in the log.")
    def rollback(name: str, db: str | None, reason: str) -> None:
        """Go back to the version of NAME that was active before."""
        with open_store(db) as store:
            version = shelf_of(store).rollback(name, reason)
        now = "it had no earlier version, so none of it is active now"
        click.echo(f"{name} rolled back: {now if version is None else f'{version} is active'}")

    @group.command()
    @click.argument("name")
    @click.argument("version")
    @db_option
    @click.option("--reason", default="", help="Why; kept in the log.")
    def retire(name: str, version: str, db: str | None, reason: str) -> None:
        """Rule a version out for good; never the active one."""
        with open_store(db) as store:
            shelf_of(store).retire(name, version, reason)
        click.echo(f"{name} {version} is retired")


def print_evaluation(name: str, version: str, evaluation: Evaluation, as_json: bool) -> None:
    """What an activation rests on."""
    results = dict(evaluation.results)
    if as_json:
        record = {"name": name, "version": version, "active": True, "cases": results}
        click.echo(json.dumps({**record, "evidence": evaluation.evidence}, indent=2, default=repr))
        return
    click.echo(f"{name} {version} is active: {len(results)} of {len(results)} cases passed")
    spread = evaluation.evidence.get("spread")
    if spread:
        wordings = spread["right_by_wording"]
        click.echo(
            f"right on its own requests: {wordings['as staged']:.3f}; over {len(wordings)} "
            f"wordings mean {spread['mean']:.3f}, range {spread['min']:.3f} to "
            f"{spread['max']:.3f}, sd {spread['sd']:.3f} "
            f"(drawing other requests: sd {spread['case_sampling_sd']:.3f})"
        )


def case_names(path: str) -> list[str]:
    """Names of required cases: a JSON array of texts, or one a line.

    Raises:
        click.ClickException: If the file cannot be read or is something else.
    """
    from roster.problem import Problem
    from roster.reading import read_bytes

    data = read_bytes(str(Path(path).expanduser().resolve()))
    if isinstance(data, Problem):
        raise click.ClickException(str(data))
    try:
        text = data.decode("utf-8")
        names = json.loads(text) if text.lstrip().startswith("[") else text.split("\n")
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise click.ClickException(f"{path}: is no list of case names ({error})") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise click.ClickException(
            f'{path}: is no list of case names; write a JSON array of texts such as ["opening"], '
            "or one name a line"
        )
    return [name.strip() for name in names if name.strip()]


def load_callable(name: str) -> Callable[..., Any]:
    """The callable that ``module:name`` means; modules of the current folder count.

    Raises:
        click.ClickException: If there is none.
    """
    import importlib
    import sys

    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise click.ClickException(f"--evaluator {name!r}: write module:function")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise click.ClickException(f"--evaluator {name!r}: cannot be imported ({error})") from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not callable(found):
        raise click.ClickException(f"--evaluator {name!r}: is not callable")
    call: Callable[..., Any] = found
    return call


def _line(event: Event) -> str:
    from roster.text import one_line, visible

    evidence = event.evidence
    notes: Sequence[str] = [f"reason {evidence['reason']}"] if evidence.get("reason") else []
    if event.decision == "rolled_back":
        notes = [f"to {evidence.get('to') or 'none'}", *notes]
    if evidence.get("repairs"):
        notes = [f"repaired: {len(evidence['repairs'])}", *notes]
    cases = evidence.get("cases")
    if isinstance(cases, dict):
        passed = sum(value is True for value in cases.values())
        notes = [f"{passed} of {len(cases)} cases passed", *notes]
    text = f"{event.id:5d}  {event.at}  {event.decision:18} {event.name} {event.version}"
    return visible(one_line(f"{text}  {'; '.join(notes)}"[:300])).rstrip()
