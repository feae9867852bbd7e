"""A store as one text file, and back."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from roster.problem import Problem
from roster.reading import read_bytes
from roster.store.check import check_store
from roster.store.connection import Database
from roster.store.errors import TransferError
from roster.store.events import record_event
from roster.store.records import SkillVersion, Stored, canonical_json, sha256
from roster.text import visible

FORMAT = "skill-router-store"
FORMAT_VERSION = 1
MAX_IMPORT_BYTES = 1 << 30

_EVENT_FIELDS = ("at", "kind", "name", "version", "decision", "evidence")


def export_store(database: Database, path: Path) -> int:
    """Write versions, files and log as JSON Lines, whole or not at all.

    The first line names the format, the last one holds the SHA-256 of all lines before it.

    Args:
        database: The store's database.
        path: The file to write.

    Returns:
        How many versions were written.

    Raises:
        TransferError: If the file cannot be written.
    """
    with database.reading() as connection:
        versions = [dict(row) for row in connection.execute("SELECT * FROM versions")]
        files = [dict(row) for row in connection.execute("SELECT * FROM files")]
        for item in files:
            if not isinstance(item["data"], bytes) or sha256(item["data"]) != item["sha256"]:
                raise TransferError(
                    f"{database.path}: the file {str(item['sha256'])[:12]!r} was changed in the "
                    "store; run skill-router skills check"
                )
        events = [dict(row) for row in connection.execute("SELECT * FROM events ORDER BY id")]
    lines = [canonical_json({"format": FORMAT, "version": FORMAT_VERSION})]
    for item in files:
        data = base64.b64encode(item["data"]).decode("ascii")
        lines.append(canonical_json({"file": {"sha256": item["sha256"], "data": data}}))
    lines += [canonical_json({"stored": row}) for row in versions]
    lines += [
        canonical_json({"event": {name: row[name] for name in _EVENT_FIELDS}}) for row in events
    ]
    text = "\n".join(lines) + "\n"
    text += canonical_json({"end": sha256(text.encode("ascii"))}) + "\n"
    if path.exists() and not path.is_file():
        raise TransferError(f"{path}: is not a regular file; give the path of a file to write")
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="ascii", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise TransferError(f"{path}: cannot be written ({error.strerror})") from error
    return len(versions)


def import_store(database: Database, path: Path) -> int:
    """Take in an export, all of it or nothing.

    Into an empty store everything is restored: versions, log, and what is active. Into one with
    versions of its own only versions that are missing are added, inactive: what was evaluated in
    another configuration has to be evaluated in this one.

    Args:
        database: The store's database.
        path: The file.

    Returns:
        How many versions were added.

    Raises:
        TransferError: If the file is no complete export, a digest does not hold, or a version is
            there already with other content.
    """
    data = read_bytes(str(path), MAX_IMPORT_BYTES)
    if isinstance(data, Problem):
        raise TransferError(str(data))
    parts = _parsed(data, path)
    stored = [_stored(line, fields, path) for line, fields in parts["stored"]]
    files = dict(_file(line, fields, path) for line, fields in parts["file"])
    with database.writing() as connection:
        count = connection.execute("SELECT count(*) FROM versions").fetchone()[0]
        events = connection.execute("SELECT count(*) FROM events").fetchone()[0]
        fresh = not count and not events
        new = [item for item in stored if _is_new(connection, item[1], f"{path}:{item[0]}")]
        wanted = {file["sha256"] for _, row in new for file in _files_of(row)}
        if not wanted <= files.keys():
            raise TransferError(f"{path}: lacks a file that a version lists; export it again")
        connection.executemany(
            "INSERT OR IGNORE INTO files(sha256, data) VALUES (?,?)",
            [(digest, files[digest]) for digest in sorted(wanted)],
        )
        for line, row in new:
            if not fresh:
                row = row.model_copy(update={"active": False, "retired": False})
            _insert(connection, row, f"{path}:{line}")
            if not fresh:
                evidence = {"export_sha256": sha256(data), "content_sha256": row.content_sha256}
                record_event(connection, "imported", (row.kind, row.name, row.version), evidence)
        if fresh:
            for line, fields in parts["event"]:
                _insert_event(connection, fields, f"{path}:{line}")
            _require_whole(database, path)
    return len(new)


def _require_whole(database: Database, path: Path) -> None:
    """Refuse an export whose log does not lead to what it restores."""
    problems = check_store(database)
    if problems:
        raise TransferError(
            f"{path}: does not make a whole store ({visible(problems[0].message)[:400]}); "
            "nothing was imported. Export it again"
        )


def _parsed(data: bytes, path: Path) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    cut = data.rstrip(b"\n").rfind(b"\n") + 1
    lines = data.split(b"\n")
    parts: dict[str, list[tuple[int, dict[str, Any]]]] = {"file": [], "stored": [], "event": []}
    number = 1
    try:
        head = json.loads(lines[0])
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise TransferError(f"{path}:1: is no export of a skill store; make one with export")
        if head.get("version") != FORMAT_VERSION:
            raise TransferError(
                f"{path}:1: is an export of format {head.get('version')!r}, this version reads "
                f"{FORMAT_VERSION}; upgrade skill-router"
            )
        end = json.loads(data[cut:])
        if not isinstance(end, dict) or end.get("end") != hashlib.sha256(data[:cut]).hexdigest():
            raise TransferError(f"{path}: is cut short or was changed; export it again")
        for number, line in enumerate(data[:cut].split(b"\n")[:-1], start=1):
            if number > 1:
                ((kind, fields),) = json.loads(line).items()
                parts[kind].append((number, dict(fields)))
    except TransferError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TransferError(
            f"{path}:{number}: is no line of an export ({type(error).__name__}); export it again"
        ) from error
    return parts


def _stored(line: int, fields: dict[str, Any], path: Path) -> tuple[int, Stored]:
    where = f"{path}:{line}"
    try:
        row = Stored.model_validate(fields)
        content = json.loads(row.content)
        if row.kind == SkillVersion.kind:
            SkillVersion.model_validate_json(row.content)
        named = (content.get("name"), content.get("version"))
    except (ValidationError, ValueError, AttributeError, RecursionError) as error:
        raise TransferError(f"{where}: is no version ({str(error).splitlines()[0]})") from error
    if (
        sha256(row.content.encode("utf-8")) != row.content_sha256
        or named != (row.name, row.version)
        or canonical_json(content) != row.content
    ):
        raise TransferError(f"{where}: the content of {row.name} {row.version} was changed")
    return line, row


def _file(line: int, fields: dict[str, Any], path: Path) -> tuple[str, bytes]:
    try:
        data = base64.b64decode(fields["data"], validate=True)
    except (KeyError, TypeError, binascii.Error, ValueError) as error:
        raise TransferError(f"{path}:{line}: is no file ({type(error).__name__})") from error
    if sha256(data) != fields.get("sha256"):
        raise TransferError(f"{path}:{line}: the file does not have its sha256")
    return sha256(data), data


def _files_of(row: Stored) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = json.loads(row.content).get("files") or []
    return files


def _is_new(connection: sqlite3.Connection, row: Stored, where: str) -> bool:
    found = connection.execute(
        "SELECT content FROM versions WHERE kind = ? AND name = ? AND version = ?",
        (row.kind, row.name, row.version),
    ).fetchone()
    if found is not None and found[0] != row.content:
        raise TransferError(
            f"{where}: {row.name} {row.version} is in the store with other content; nothing was "
            "imported. Stage that content under a new version"
        )
    return found is None


def _insert(connection: sqlite3.Connection, row: Stored, where: str) -> None:
    try:
        connection.execute(
            "INSERT INTO versions(kind, name, version, content, content_sha256, source_sha256,"
            " staged_at, active, retired) VALUES (?,?,?,?,?,?,?,?,?)",
            (row.kind, row.name, row.version, row.content, row.content_sha256, row.source_sha256,
             row.staged_at, int(row.active), int(row.retired)),
        )  # fmt: skip
    except sqlite3.IntegrityError as error:
        raise TransferError(f"{where}: {row.name} {row.version}: {error}") from error


def _insert_event(connection: sqlite3.Connection, fields: dict[str, Any], where: str) -> None:
    try:
        evidence = json.loads(fields["evidence"])
        if not isinstance(evidence, dict):
            raise ValueError("evidence is no object")
        connection.execute(
            "INSERT INTO events(at, kind, name, version, decision, evidence) VALUES (?,?,?,?,?,?)",
            [fields[name] for name in _EVENT_FIELDS],
        )
    except (KeyError, ValueError, TypeError, sqlite3.Error) as error:
        raise TransferError(f"{where}: is no event ({error})") from error
