"""The proof that a store is whole: digests hold, and its state follows from its log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from roster.problem import Problem
from roster.store.connection import Database
from roster.store.events import History, read_events, replay
from roster.store.records import SkillVersion, Stored, canonical_json, sha256


def check_store(database: Database) -> list[Problem]:
    """Examine every row of a store.

    The file's own structure is checked by SQLite; then every digest is computed anew, every listed
    file is looked up, and the log is replayed: the versions, the active and the retired ones must
    be exactly those it leads to.

    Args:
        database: The store's database.

    Returns:
        What is wrong; empty for a store that is whole.
    """
    with database.reading() as connection:
        found = [_problem(database.path, *item) for item in _structure(connection)]
        if found:
            return found
        rows = [Stored(**dict(row)) for row in connection.execute("SELECT * FROM versions")]
        files = {row[0]: _bytes(row[1]) for row in connection.execute("SELECT * FROM files")}
        histories = replay(read_events(connection))
    items = [*_contents(rows, files), *_history(rows, histories)]
    return [_problem(database.path, *item) for item in items]


def _bytes(value: object) -> bytes:
    """What a damaged row holds in place of bytes has no digest that fits."""
    return value if isinstance(value, bytes) else b""


def _problem(path: str, code: str, message: str) -> Problem:
    return Problem(
        path=path,
        severity="error",
        code=code,
        message=message,
        remedy="restore a copy of the store, or import an export into a new one",
    )


def _structure(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for row in connection.execute("PRAGMA integrity_check(20)"):
        if row[0] != "ok":
            yield "damaged", f"SQLite reports: {row[0]}"


def _contents(rows: list[Stored], files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    for digest, data in files.items():
        if sha256(data) != digest:
            yield "file-changed", f"the file {digest[:12]} does not have that sha256"
    listed = set()
    for row in rows:
        what = f"{row.kind} {row.name} {row.version}"
        if sha256(row.content.encode("utf-8")) != row.content_sha256:
            yield "content-changed", f"{what}: the content does not have its sha256"
            continue
        try:
            content = json.loads(row.content)
        except (ValueError, RecursionError):
            content = None
        named = isinstance(content, dict) and (content.get("name"), content.get("version"))
        if named != (row.name, row.version) or canonical_json(content) != row.content:
            yield "content-misplaced", f"{what}: the content is not that version's"
            continue
        if row.kind == SkillVersion.kind:
            try:
                SkillVersion.model_validate_json(row.content)
            except ValidationError as error:
                yield "content-invalid", f"{what}: {str(error).splitlines()[0]}"
                continue
        for digest in _listed(content):
            listed.add(digest)
            if digest not in files:
                yield "file-missing", f"{what}: the file {digest[:12]} is not in the store"
    for digest in files.keys() - listed:
        yield "file-unlisted", f"no version lists the file {digest[:12]}"


def _listed(content: dict[str, Any]) -> list[str]:
    """Digests of the files that a content of whatever kind lists."""
    files = content.get("files")
    items = files if isinstance(files, list) else []
    found = (item.get("sha256") for item in items if isinstance(item, dict))
    return [digest for digest in found if isinstance(digest, str)]


def _history(
    rows: list[Stored], histories: dict[tuple[str, str], History]
) -> Iterator[tuple[str, str]]:
    names = {(row.kind, row.name) for row in rows} | {
        key for key, history in histories.items() if history.staged
    }
    for key in sorted(names):
        history = histories.get(key, History())
        mine = [row for row in rows if (row.kind, row.name) == key]
        what = " ".join(key)
        if {row.version for row in mine} != history.staged:
            yield "log-versions", f"{what}: the versions are not those that the log says"
        if [row.version for row in mine if row.active] != history.active[-1:]:
            said = history.active[-1] if history.active else "none"
            yield "log-active", f"{what}: the log says that {said} is active, the table another"
        if {row.version for row in mine if row.retired} != history.retired:
            yield "log-retired", f"{what}: the retired versions are not those that the log says"
