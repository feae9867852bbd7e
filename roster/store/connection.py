"""Opening the database, short transactions, and errors a person can act on."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from roster.store.errors import StoreError
from roster.store.schema import CURRENT, migrate, schema_version
from roster.text import visible

# What is raised when bytes of a row have changed on the disk.
_UNREADABLE = (ValidationError, UnicodeDecodeError, json.JSONDecodeError, RecursionError)

BUSY_SECONDS = 20.0
"""How long a transaction waits for another process."""


class Database:
    """One SQLite file in WAL mode.

    Args:
        path: The file. It and its folder are made when they are missing and `create` is set.
        create: Whether a missing file is made.

    Attributes:
        path: The file.
        read_only: Whether nothing can be written, as on a read-only disk.

    Raises:
        StoreError: If it cannot be opened, is damaged, or belongs to something else.
    """

    def __init__(self, path: str | os.PathLike[str], create: bool = True) -> None:
        self.path = str(Path(path).expanduser())
        self.read_only = False
        with translated(self.path):
            if not _exists(self.path):
                if not create:
                    raise StoreError(
                        f"{self.path}: there is no store; stage a version first, or give --db"
                    )
                try:
                    Path(self.path).parent.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    raise StoreError(
                        f"{self.path}: its folder cannot be made ({error.strerror}); give the "
                        "path of a writable place"
                    ) from None
            self.connection = self._open()

    def _open(self) -> sqlite3.Connection:
        connection = self._connect("rwc")
        try:
            version = schema_version(connection, self.path)
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise StoreError(
                    f"{self.path}: this disk does not support write-ahead logging; put the store "
                    "on a local disk"
                )
            # A power cut must not lose a decision either.
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA foreign_keys=ON")
            if version < CURRENT:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    migrate(connection, self.path)
                    connection.execute("COMMIT")
                except BaseException:
                    _roll_back(connection)
                    raise
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            if not _is_refused_write(error) or not _exists(self.path):
                raise
            return self._open_read_only()
        except BaseException:
            connection.close()
            raise

    def _open_read_only(self) -> sqlite3.Connection:
        self.read_only = True
        wal = Path(f"{self.path}-wal")
        # Without a pending log the file is complete, and no shared memory beside it is needed.
        pending = wal.exists() and wal.stat().st_size > 0
        connection = self._connect("ro" if pending else "ro&immutable=1")
        try:
            if schema_version(connection, self.path) != CURRENT:
                raise StoreError(
                    f"{self.path}: was written by an older version and lies on a read-only disk, "
                    "so it cannot be brought up to date; copy it to a writable place"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{Path(self.path).absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        return connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Run queries that see one state of the database; inside `writing`, that of its changes."""
        with translated(self.path):
            if self.connection.in_transaction:
                yield self.connection
                return
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                _roll_back(self.connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run statements that take effect all together or not at all."""
        if self.read_only:
            raise StoreError(
                f"{self.path}: lies on a read-only disk, so nothing can be changed; copy the store "
                "to a writable place"
            )
        with translated(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                _roll_back(self.connection)
                raise

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self.connection.close()


def _exists(path: str) -> bool:
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"{path!r}: cannot be opened ({reason}); check the path") from None
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path}: is not a regular file; give the path of a store file")
    return True


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _is_refused_write(error: sqlite3.OperationalError) -> bool:
    name = error.sqlite_errorname
    return name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"))


@contextlib.contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn SQLite's errors into `StoreError` with the cause and the remedy."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except _UNREADABLE as error:
        raise StoreError(
            f"{path}: holds a row that cannot be read ({type(error).__name__}); restore a copy, or "
            "move it away and import an export into a new store"
        ) from error
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        # A damaged schema is quoted in it, whatever its bytes are now.
        message = visible(str(error))[:400]
        raise StoreError(f"{path}: {_explained(name, message)}") from error


def _explained(name: str, message: str) -> str:
    if name.startswith("SQLITE_FULL"):
        return "the disk is full; nothing was changed. Free some space and try again"
    if name.startswith("SQLITE_READONLY"):
        return "lies on a read-only disk, so nothing can be changed; copy it to a writable place"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another process held it for {BUSY_SECONDS:.0f} seconds; try again"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return (
            f"is not a readable store ({message}); it was left as it is. Restore a copy, or move it"
            " away and import an export into a new store"
        )
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_PERM")):
        return "cannot be opened; check that the folder exists and may be written"
    if name.startswith("SQLITE_IOERR"):
        return f"the disk failed ({message}); nothing was changed. Check the disk and try again"
    return f"the database refused ({message}); run skill-router skills check"
