"""The log of decisions, and the state that follows from it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from roster.store.records import Event


def now() -> str:
    """The time, UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_event(
    connection: sqlite3.Connection,
    decision: str,
    key: tuple[str, str, str],
    evidence: dict[str, Any],
) -> None:
    """Append a decision within the caller's transaction.

    Args:
        connection: The connection that holds the transaction.
        decision: See `Event.decision`.
        key: Kind, name and version.
        evidence: What it rests on; what JSON does not know is kept as its `repr`.
    """
    connection.execute(
        "INSERT INTO events(at, kind, name, version, decision, evidence) VALUES (?,?,?,?,?,?)",
        (now(), *key, decision, json.dumps(evidence, default=repr)),
    )


def read_events(
    connection: sqlite3.Connection,
    kind: str | None = None,
    name: str | None = None,
    last: int | None = None,
) -> list[Event]:
    """Events in order.

    Args:
        connection: An open connection.
        kind: Only of this kind.
        name: Only of this name.
        last: Only so many, the newest ones.
    """
    rows = connection.execute(
        "SELECT * FROM (SELECT * FROM events WHERE (?1 IS NULL OR kind = ?1)"
        " AND (?2 IS NULL OR name = ?2) ORDER BY id DESC LIMIT ?3) ORDER BY id",
        (kind, name, -1 if last is None else last),
    )
    return [Event(**{**dict(row), "evidence": json.loads(row["evidence"])}) for row in rows]


@dataclass
class History:
    """What the log says of one name.

    Attributes:
        staged: Labels that were staged or imported.
        active: Labels in the order they became active, the active one last. A rollback takes from
            its end.
        retired: Labels that may not be activated again.
    """

    staged: set[str] = field(default_factory=set)
    active: list[str] = field(default_factory=list)
    retired: set[str] = field(default_factory=set)

    def previous(self) -> str | None:
        """What a rollback goes back to: the last active version that is not retired, or none."""
        current = self.active[-1] if self.active else None
        earlier = (v for v in reversed(self.active) if v != current and v not in self.retired)
        return next(earlier, None)


def replay(events: Iterable[Event]) -> dict[tuple[str, str], History]:
    """The state of every (kind, name) that the events lead to."""
    histories: dict[tuple[str, str], History] = {}
    for event in events:
        history = histories.setdefault((event.kind, event.name), History())
        if event.decision in ("staged", "imported"):
            history.staged.add(event.version)
        elif event.decision == "retired":
            history.retired.add(event.version)
        elif event.decision == "activated":
            if history.active[-1:] != [event.version]:
                history.active.append(event.version)
        elif event.decision == "rolled_back":
            target = event.evidence.get("to")
            while history.active and history.active[-1] != target:
                history.active.pop()
    return histories
