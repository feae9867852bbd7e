"""The versions of one kind: stage, evaluate and activate, roll back, retire."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, TypeVar

from roster.store.connection import Database
from roster.store.errors import (
    ActivationRefusedError,
    StageRefusedError,
    StoreError,
    UnknownVersionError,
)
from roster.store.events import now, read_events, record_event, replay
from roster.store.records import (
    Evaluation,
    Event,
    Snapshot,
    Staging,
    Stored,
    Versioned,
    canonical_json,
    sha256,
)
from roster.text import one_line, visible

Record = TypeVar("Record", bound=Versioned)

Evaluator = Callable[[Record, Snapshot], "Evaluation | Mapping[str, Any]"]
"""Takes the candidate and everything that is active; answers named cases, each True or failed."""


class Shelf(Generic[Record]):
    """All versions of one kind of record.

    Args:
        database: The database.
        model: The record's class; its `kind` names the shelf.
    """

    def __init__(self, database: Database, model: type[Record]) -> None:
        self._database = database
        self._model = model
        self.kind = model.kind

    def stage(self, staging: Staging) -> bool:
        """Keep a version, inactive and for ever.

        Args:
            staging: The validated source.

        Returns:
            True when it is new, False when the same content is there already under its label.

        Raises:
            StageRefusedError: If the label already stands for other content.
        """
        record = staging.record
        key = (self.kind, record.name, record.version)
        content = record.canonical()
        digest = sha256(content.encode("ascii"))
        evidence: dict[str, Any] = {
            "content_sha256": digest,
            "source_sha256": staging.source_sha256,
        }
        if staging.repairs:
            evidence["repairs"] = list(staging.repairs)
        with self._database.writing() as connection:
            found = self._row(connection, record.name, record.version)
            if found is None:
                connection.execute(
                    "INSERT INTO versions(kind, name, version, content, content_sha256,"
                    " source_sha256, staged_at) VALUES (?,?,?,?,?,?,?)",
                    (*key, content, digest, staging.source_sha256, now()),
                )
                connection.executemany(
                    "INSERT OR IGNORE INTO files(sha256, data) VALUES (?,?)",
                    sorted(staging.data.items()),
                )
                record_event(connection, "staged", key, evidence)
                return True
            if found.content == content:
                return False
            record_event(connection, "stage_refused", key, evidence)
        raise StageRefusedError(
            f"{record.name} {record.version} is staged already with other content "
            f"({found.content_sha256[:12]}, not {digest[:12]}), and a version never changes; give "
            "the new content a new version"
        )

    def versions(self, name: str | None = None) -> list[Stored]:
        """Every version, in the order of names and of staging; `name` for those of one name."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT * FROM versions WHERE kind = ?1 AND (?2 IS NULL OR name = ?2)"
                " ORDER BY name, rowid",
                (self.kind, name),
            )
            return [Stored(**dict(row)) for row in rows]

    def row(self, name: str, version: str) -> Stored:
        """One version as it is stored.

        Raises:
            UnknownVersionError: If there is none.
        """
        with self._database.reading() as connection:
            found = self._row(connection, name, version)
        if found is None:
            raise self._unknown(name, version)
        return found

    def get(self, name: str, version: str) -> Record:
        """The content of one version. Raises as `row`."""
        return self.row(name, version).record(self._model)

    def log(self, name: str | None = None, last: int | None = None) -> list[Event]:
        """Decisions in order, of one name or all; only the newest `last` of them when given."""
        with self._database.reading() as connection:
            return read_events(connection, self.kind, name, last)

    def activate(
        self,
        name: str,
        version: str,
        *,
        evaluate: Evaluator[Record],
        required: Collection[str],
        expected: str | None = None,
        source: Mapping[str, Any] | None = None,
    ) -> Evaluation:
        """Evaluate a version, and make it the active one if every case passed.

        The evaluation runs outside any transaction; a short one then compares what is active with
        what was active at the start, and switches.

        Args:
            name: The name.
            version: The label.
            evaluate: Answers the cases, given the candidate and the snapshot.
            required: Names of the cases that must be answered; at least one.
            expected: Digest of the snapshot the caller's evidence rests on; by default that of now.
            source: More evidence to keep with the decision, such as the digest of the cases.

        Returns:
            What the evaluator answered.

        Raises:
            UnknownVersionError: If there is no such version.
            ActivationRefusedError: If the suite is empty, a required case is missing, a value is
                not True itself, the evaluator failed or changed its candidate, the version is
                retired, or something else was activated meanwhile. The refusal is in the log.
        """
        key = (self.kind, name, version)
        evidence: dict[str, Any] = dict(source or {})
        stored = self.row(name, version)
        baseline = take_snapshot(self._database)
        evidence["baseline"] = expected or baseline.digest
        evidence["content_sha256"] = stored.content_sha256
        if stored.retired:
            raise self._refused(key, evidence, "it is retired; stage a new version")
        if not required:
            raise self._refused(key, evidence, "the suite is empty; name at least one case")
        if expected is not None and expected != baseline.digest:
            raise self._refused(key, evidence, _changed(expected, baseline.digest))
        candidate = stored.record(self._model)
        try:
            answer = evaluate(candidate, baseline)
        # An evaluator that ends the program must not look like an activation to whoever waits.
        except (Exception, SystemExit) as error:
            text = visible(one_line(f"{type(error).__name__}: {error}"))[:300]
            reason = f"the evaluator failed ({text}); mend it and try again"
            raise self._refused(key, evidence, reason) from error
        if isinstance(answer, Evaluation):
            evaluation = answer
        elif isinstance(answer, Mapping) and all(isinstance(name, str) for name in answer):
            evaluation = Evaluation(results=answer)
        else:
            raise self._refused(key, evidence, _no_answer(answer))
        evidence["cases"] = dict(evaluation.results)
        evidence["evidence"] = evaluation.evidence
        if candidate.canonical() != stored.content:
            raise self._refused(
                key, evidence, "the evaluator changed its candidate instead of testing it"
            )
        failed = _failures(evaluation, required)
        if failed:
            raise self._refused(key, evidence, failed)
        with self._database.writing() as connection:
            current = _snapshot(connection)
            again = self._row(connection, name, version)
            reason = ""
            if again is None or again.content != stored.content:
                reason = "the stored version is not the one that was evaluated; run skills check"
            elif again.retired:
                reason = "it was retired meanwhile"
            elif current.digest != baseline.digest:
                reason = _changed(baseline.digest, current.digest)
            if not reason:
                self._switch(connection, name, version)
                record_event(connection, "activated", key, evidence)
        if reason:
            raise self._refused(key, evidence, reason)
        return evaluation

    def rollback(self, name: str, reason: str = "") -> str | None:
        """Go back to the version that was active before; to none, when there was none.

        Args:
            name: The name.
            reason: Why; kept with the decision.

        Returns:
            The version that is active now, or None.

        Raises:
            ActivationRefusedError: If no version of the name is active.
        """
        with self._database.writing() as connection:
            events = read_events(connection, self.kind, name)
            history = replay(events).get((self.kind, name))
            if history is None or not history.active:
                raise ActivationRefusedError(
                    f"no version of {self.kind} {name!r} is active, so there is nothing to roll "
                    "back"
                )
            current, target = history.active[-1], history.previous()
            self._switch(connection, name, target)
            evidence = {"from": current, "to": target, "reason": reason}
            record_event(connection, "rolled_back", (self.kind, name, current), evidence)
        return target

    def retire(self, name: str, version: str, reason: str = "") -> None:
        """Rule a version out for good. It stays in the store.

        Raises:
            UnknownVersionError: If there is no such version.
            ActivationRefusedError: If it is the active one.
        """
        with self._database.writing() as connection:
            found = self._row(connection, name, version)
            if found is None:
                raise self._unknown(name, version)
            if found.active:
                raise ActivationRefusedError(
                    f"{name} {version} is active; activate another version or roll back first"
                )
            if found.retired:
                return
            connection.execute(
                "UPDATE versions SET retired = 1 WHERE kind = ? AND name = ? AND version = ?",
                (self.kind, name, version),
            )
            record_event(connection, "retired", (self.kind, name, version), {"reason": reason})

    def _switch(self, connection: sqlite3.Connection, name: str, version: str | None) -> None:
        connection.execute(
            "UPDATE versions SET active = 0 WHERE kind = ? AND name = ? AND active = 1",
            (self.kind, name),
        )
        connection.execute(
            "UPDATE versions SET active = 1 WHERE kind = ? AND name = ? AND version = ?",
            (self.kind, name, version),
        )

    def _row(self, connection: sqlite3.Connection, name: str, version: str) -> Stored | None:
        row = connection.execute(
            "SELECT * FROM versions WHERE kind = ? AND name = ? AND version = ?",
            (self.kind, name, version),
        ).fetchone()
        return None if row is None else Stored(**dict(row))

    def _refused(
        self, key: tuple[str, str, str], evidence: dict[str, Any], reason: str
    ) -> ActivationRefusedError:
        """Put a refusal into the log and give the error to raise."""
        message = f"{key[1]} {key[2]} was not activated: {reason}"
        try:
            with self._database.writing() as connection:
                record_event(connection, "activation_refused", key, {**evidence, "reason": reason})
        except StoreError as error:
            message += f" (and the refusal could not be logged: {error})"
        return ActivationRefusedError(message)

    def _unknown(self, name: str, version: str) -> UnknownVersionError:
        known = [row.version for row in self.versions(name)]
        shown = ", ".join(known[-5:])
        if known:
            hint = f"it has {len(known)}, the newest: {shown}"
        else:
            hint = f"the store has no {self.kind} of that name; stage one first"
        return UnknownVersionError(f"{name[:128]!r} has no version {version[:64]!r}; {hint}")


def take_snapshot(database: Database) -> Snapshot:
    """Everything active, of every kind, in one query."""
    with database.reading() as connection:
        return _snapshot(connection)


def _snapshot(connection: sqlite3.Connection) -> Snapshot:
    found = connection.execute("SELECT * FROM versions WHERE active = 1 ORDER BY kind, name")
    rows = tuple(Stored(**dict(row)) for row in found)
    parts = [[r.kind, r.name, r.version, r.content_sha256, r.source_sha256] for r in rows]
    return Snapshot(digest=sha256(canonical_json(parts).encode("ascii")), rows=rows)


def _failures(evaluation: Evaluation, required: Collection[str]) -> str:
    results = evaluation.results
    missing = sorted(set(required) - set(results))
    failed = sorted(str(name) for name, value in results.items() if value is not True)
    parts = []
    if missing:
        parts.append(f"no answer for the required {_listed(missing)}")
    if failed:
        reasons = evaluation.reasons
        told = [f"{name} ({reasons[name]})" if name in reasons else name for name in failed]
        parts.append(f"not passed: {_listed(told)}")
    return "; ".join(parts)


def _no_answer(answer: object) -> str:
    what = "names that are no texts" if isinstance(answer, Mapping) else type(answer).__name__
    return f"the evaluator answered {what}; let it answer a mapping of case names to True or False"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def _changed(before: str, after: str) -> str:
    return (
        f"what is active changed during the evaluation ({before[:12]} to {after[:12]}), so its "
        "result is about another configuration; evaluate again"
    )
