"""Rosters and labelled requests in JSON and JSON Lines."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from eval.data import RequestsError, load_turns
from eval.fuzz.generate import Random, dumped, record, text, value
from eval.fuzz.target import Target, clean, require
from roster import Roster, RosterError, is_safe_name

_SKILLS = (
    {"name": "kite-repair", "description": "Mend kites.", "body": "Glue it.", "requires": ["a"]},
    {"name": "bread", "description": "Short", "description_full": "Bake.", "category": "food"},
)
_TURNS = (
    {"text": "Mend my kite", "gold": "kite-repair", "recent_context": ["hello"]},
    {"text": "What is bread?", "gold": None, "kind": "near_miss", "lang": "en"},
)
_SKILL_FIELDS = ("name", "description", "description_full", "category", "body", "requires",
                 "version", "path", "digest")  # fmt: skip
_TURN_FIELDS = ("text", "gold", "kind", "recent_context", "near", "lang", "names_tool",
                "acts_on_system", "prose_suffices")  # fmt: skip


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""

    def feed_roster(file: Path, data: bytes) -> bool:
        file.write_bytes(data)
        try:
            roster = Roster.from_path(file, duplicates="namespace")
        except RosterError as error:
            return clean(error, file.name)
        require(all(map(is_safe_name, roster.names)), "an unsafe name")
        require(Roster.from_path(file, duplicates="namespace") == roster, "two readings differ")
        roster.prompt()
        return True

    def feed_turns(data: bytes) -> bool:
        file = place / "turns.jsonl"
        file.write_bytes(data)
        try:
            turns = load_turns(file)
        except RequestsError as error:
            return clean(error, file.name)
        for one in turns:
            one.turn()
        return True

    array, lines = place / "roster.json", place / "roster.jsonl"
    turn_seeds = (json.dumps(_TURNS).encode(), _lines(_TURNS))
    return [
        Target(
            "roster-json", 10, [json.dumps(_SKILLS).encode()],
            lambda r: _array(r, _build_skills(r)), lambda data: feed_roster(array, data),
        ),
        Target(
            "roster-jsonl", 10, [_lines(_SKILLS)],
            lambda r: b"\n".join(dumped(r, one) for one in _build_skills(r)),
            lambda data: feed_roster(lines, data),
        ),
        Target(
            "requests-file", 8, turn_seeds,
            lambda r: b"\n".join(dumped(r, one) for one in _build_turns(r)), feed_turns,
        ),
    ]  # fmt: skip


def _lines(records: object) -> bytes:
    assert isinstance(records, tuple)
    return "\n".join(json.dumps(one) for one in records).encode()


def _array(random: Random, records: list[object]) -> bytes:
    if random.random() < 0.5:
        return dumped(random, records)
    return b"[" + b",\n".join(dumped(random, one) for one in records) + b"]"


def _build_skills(random: Random) -> list[object]:
    fields = {
        "name": lambda r: r.choice(("a", "b", "c-d", "Caf\u00e9 Eins", text(r))),
        "description": text,
        "body": text,
        "requires": lambda r: [text(r)[:20] for _ in range(r.randrange(3))],
        "version": lambda r: r.choice(("1", 1, 1.5, 10**400)),
        "category": text,
    }
    return [record(random, fields, _SKILL_FIELDS) for _ in range(random.randrange(5))]


def _build_turns(random: Random) -> list[object]:
    fields = {
        "text": lambda r: text(r) or "x",
        "gold": lambda r: r.choice((None, "kite-repair")),
        "recent_context": lambda r: [text(r) for _ in range(r.randrange(3))],
        "kind": text,
        "acts_on_system": lambda r: r.choice((True, False, None)),
    }
    made: list[object] = [record(random, fields, _TURN_FIELDS) for _ in range(random.randrange(5))]
    if random.random() < 0.1:
        made.append(value(random, _TURN_FIELDS))
    return made
