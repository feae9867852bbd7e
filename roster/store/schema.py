"""The tables of a store, and how an older store is brought up to date."""

from __future__ import annotations

import sqlite3

from roster.store.errors import StoreError

APPLICATION_ID = 0x534B5254
"""Marks a SQLite file as a store of this program ("SKRT")."""

# One tuple of statements a version; a released one is never edited, only followed by another.
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE versions (
            kind TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
            content TEXT NOT NULL, content_sha256 TEXT NOT NULL, source_sha256 TEXT NOT NULL,
            staged_at TEXT NOT NULL,
            active INTEGER NOT NULL DEFAULT 0 CHECK (active IN (0, 1)),
            retired INTEGER NOT NULL DEFAULT 0 CHECK (retired IN (0, 1)),
            CHECK (NOT (active AND retired)),
            PRIMARY KEY (kind, name, version)
        ) STRICT""",
        # At most one active version of a name, whoever writes the table.
        "CREATE UNIQUE INDEX one_active ON versions (kind, name) WHERE active = 1",
        "CREATE TABLE files (sha256 TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL,
            kind TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
            decision TEXT NOT NULL, evidence TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX events_of ON events (kind, name, id)",
        """CREATE TRIGGER versions_immutable BEFORE UPDATE OF
            kind, name, version, content, content_sha256, source_sha256, staged_at ON versions
            BEGIN SELECT RAISE(ABORT, 'a version is immutable'); END""",
        """CREATE TRIGGER versions_kept BEFORE DELETE ON versions
            BEGIN SELECT RAISE(ABORT, 'a version is never deleted'); END""",
        """CREATE TRIGGER files_immutable BEFORE UPDATE ON files
            BEGIN SELECT RAISE(ABORT, 'a file of a version is immutable'); END""",
        """CREATE TRIGGER files_kept BEFORE DELETE ON files
            BEGIN SELECT RAISE(ABORT, 'a file of a version is never deleted'); END""",
        """CREATE TRIGGER events_immutable BEFORE UPDATE ON events
            BEGIN SELECT RAISE(ABORT, 'an event is immutable'); END""",
        """CREATE TRIGGER events_kept BEFORE DELETE ON events
            BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END""",
    ),
)

CURRENT = len(_MIGRATIONS)
"""The schema version this program writes."""


def schema_version(connection: sqlite3.Connection, path: str) -> int:
    """The schema version of an open database; 0 for an empty one.

    Raises:
        StoreError: If it is a database of another program, or of a newer version of this one.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if mark != APPLICATION_ID and (tables or version or mark):
        raise StoreError(
            f"{path}: is a SQLite database of another program; give the path of a skill store"
        )
    if version > CURRENT:
        raise StoreError(
            f"{path}: was written by a newer version of skill-router (schema {version}; this one "
            f"knows {CURRENT}); upgrade skill-router. Nothing was changed"
        )
    return version


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Apply the missing migrations; the caller holds an immediate transaction."""
    version = schema_version(connection, path)
    for number, statements in enumerate(_MIGRATIONS[version:], start=version + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    if version == 0:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
