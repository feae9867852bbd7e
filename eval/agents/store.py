"""Where answers are kept: SQLite, by the digest of everything that was sent."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from eval.agents.protocol import Reply
from roster.text import encodable, visible

_VERSION = 1
_APPLICATION = 0x534B5252  # "SKRR": tells this kind of file from any other SQLite database
_SCHEMA = """
CREATE TABLE answers (
    digest TEXT PRIMARY KEY, model TEXT NOT NULL, reply TEXT NOT NULL, at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE recorded (
    model TEXT NOT NULL, arm TEXT NOT NULL, request TEXT NOT NULL, block TEXT NOT NULL,
    suggested TEXT, reply TEXT NOT NULL, PRIMARY KEY (model, arm, request)
) WITHOUT ROWID;
CREATE TABLE in_flight (digest TEXT PRIMARY KEY, since TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE batches (
    key TEXT PRIMARY KEY, id TEXT, since TEXT NOT NULL, digests TEXT NOT NULL
) WITHOUT ROWID;
"""


class StoreError(ValueError):
    """A store that cannot be used; the message names the file and the remedy."""


class Recorded(BaseModel):
    """An answer of a run that was published elsewhere.

    Attributes:
        model: Model that answered.
        arm: Name the run gave the arm.
        request: Text of the request.
        block: What the arm told the agent.
        suggested: Skill that the block names, or None.
        reply: The answer.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    arm: str
    request: str
    block: str
    suggested: str | None
    reply: Reply


class PendingBatch(BaseModel):
    """A batch that was handed in, or was about to be.

    Attributes:
        key: Name of the row.
        id: The server's id; None when the run was stopped before it came back.
        since: When it was about to be handed in.
        digests: Digests of its requests.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    id: str | None
    since: datetime
    digests: tuple[str, ...]


class ResultStore:
    """Answers that were paid for. Every one is on disk before the next line of code runs.

    Safe to share between threads. One process at a time may hold a file: two runs at once would
    pay for the same requests twice.

    Args:
        path: The SQLite file, made when missing; ":memory:" keeps nothing.

    Raises:
        StoreError: If the file cannot be used, is no such store, is damaged or of a newer version,
            or another run holds it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path) if str(path) == ":memory:" else str(Path(path).expanduser())
        self._lock = threading.RLock()
        self._held: FileLock | None = None
        with self._errors():
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
                self._hold()
            try:
                self._db = self._open()
            except BaseException:
                self._let_go()
                raise

    def close(self) -> None:
        """Close the file and let another run have it."""
        self._db.close()
        self._let_go()

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def get(self, digest: str) -> Reply | None:
        """The answer to a request, or None."""
        row = self._one("SELECT reply FROM answers WHERE digest = ?", (digest,))
        return None if row is None else self._reply(row[0])

    def put(self, digest: str, model: str, reply: Reply) -> None:
        """Keep the answer to a request; an answer that is there already stays."""
        with self._write() as db:
            db.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)",
                (digest, encodable(model), reply.model_dump_json(), _now()),
            )
            db.execute("DELETE FROM in_flight WHERE digest = ?", (digest,))

    def started(self, digest: str) -> None:
        """Note that a request is about to be sent."""
        with self._write() as db:
            db.execute("INSERT OR REPLACE INTO in_flight VALUES (?, ?)", (digest, _now()))

    def gave_up(self, digest: str) -> None:
        """Note that a request is no longer under way, unanswered."""
        with self._write() as db:
            db.execute("DELETE FROM in_flight WHERE digest = ?", (digest,))

    def interrupted(self) -> int:
        """Requests that were under way when an earlier run was killed; forgets them.

        The server may have answered, and charged, some of them: nobody can know.
        """
        with self._write() as db:
            count = int(db.execute("SELECT count(*) FROM in_flight").fetchone()[0])
            db.execute("DELETE FROM in_flight")
        return count

    def add_recorded(self, rows: Iterable[Recorded]) -> None:
        """Keep the answers of a published run; one that is there already is replaced."""
        with self._write() as db:
            db.executemany(
                "INSERT OR REPLACE INTO recorded VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (r.model, r.arm, r.request, r.block, r.suggested, r.reply.model_dump_json())
                    for r in rows
                ],
            )

    def recorded(self, model: str, arm: str, request: str) -> Recorded | None:
        """The published answer for a request in an arm, or None."""
        row = self._one(
            "SELECT block, suggested, reply FROM recorded "
            "WHERE model = ? AND arm = ? AND request = ?",
            (model, arm, request),
        )
        if row is None:
            return None
        return Recorded(
            model=model, arm=arm, request=request, block=row[0], suggested=row[1],
            reply=self._reply(row[2]),
        )  # fmt: skip

    def recorded_arms(self, model: str) -> list[str]:
        """Arms of the published runs of a model."""
        with self._errors(), self._lock:
            rows = self._db.execute(
                "SELECT DISTINCT arm FROM recorded WHERE model = ? ORDER BY arm",
                (encodable(model),),
            ).fetchall()
        return [str(row[0]) for row in rows]

    def save_batch(self, batch: PendingBatch) -> None:
        """Keep what is known of a batch."""
        with self._write() as db:
            db.execute(
                "INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?)",
                (batch.key, batch.id, batch.since.isoformat(), json.dumps(batch.digests)),
            )

    def drop_batch(self, key: str) -> None:
        """Forget a batch whose results are kept."""
        with self._write() as db:
            db.execute("DELETE FROM batches WHERE key = ?", (key,))

    def batches(self) -> list[PendingBatch]:
        """Batches that are not finished, the oldest first."""
        with self._errors(), self._lock:
            rows = self._db.execute("SELECT key, id, since, digests FROM batches ORDER BY since")
            return [
                PendingBatch(key=key, id=id_, since=since, digests=json.loads(digests))
                for key, id_, since, digests in rows.fetchall()
            ]

    def _one(self, sql: str, values: tuple[str, ...]) -> tuple[str, ...] | None:
        with self._errors(), self._lock:
            row: tuple[str, ...] | None = self._db.execute(
                sql, [encodable(v) for v in values]
            ).fetchone()
        return row

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._errors(), self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _reply(self, text: str) -> Reply:
        try:
            return Reply.model_validate_json(text)
        except ValidationError as error:
            raise StoreError(
                f"{self.path}: holds an answer that is damaged; restore a copy"
            ) from error

    def _open(self) -> sqlite3.Connection:
        # Each statement commits on its own unless a transaction was begun.
        db = sqlite3.connect(self.path, timeout=30.0, isolation_level=None, check_same_thread=False)
        try:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            kind = int(db.execute("PRAGMA application_id").fetchone()[0])
            tables = int(db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
            if tables and kind != _APPLICATION:
                raise StoreError(
                    f"{self.path}: is another program's database; give a file of its own"
                )
            if version > _VERSION:
                raise StoreError(
                    f"{self.path}: was written by a newer version (format {version}, this one "
                    f"knows {_VERSION}); upgrade, or give another file"
                )
            db.execute("PRAGMA journal_mode = WAL")
            # A paid answer must outlive a power cut, not only a crash of this process.
            db.execute("PRAGMA synchronous = FULL")
            if not tables:
                db.executescript(
                    f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {_APPLICATION}; "
                    f"PRAGMA user_version = {_VERSION}; COMMIT;"
                )
        except BaseException:
            db.close()
            raise
        return db

    def _hold(self) -> None:
        self._held = FileLock(f"{self.path}.lock")
        try:
            self._held.acquire(timeout=0)
        except Timeout as error:
            self._held = None
            raise StoreError(
                f"{self.path}: another run is using it; wait for it, or give another --store"
            ) from error

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path}: cannot be used as a store ({visible(str(error))[:400]}); "
                "mend the file or the folder's "
                "permissions, or give another --store"
            ) from error
        except (ValidationError, UnicodeDecodeError, json.JSONDecodeError, TypeError) as error:
            raise StoreError(
                f"{self.path}: holds a row that cannot be read ({type(error).__name__}); restore a "
                "copy, or give another --store"
            ) from error
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be used as a store ({error.strerror}); give another --store"
            ) from error


def _now() -> str:
    return datetime.now(UTC).isoformat()
