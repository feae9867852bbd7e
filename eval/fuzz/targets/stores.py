"""Stores of versions and of answers: databases with flipped bytes, exports, and sources."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from eval.agents.protocol import Reply
from eval.agents.store import ResultStore
from eval.agents.store import StoreError as ResultStoreError
from eval.fuzz.generate import Random, flipped, mutated, text
from eval.fuzz.light import light_heads, small_roster
from eval.fuzz.target import Target, clean
from roster import RosterError
from roster.store import Store, StoreError, read_source
from router.errors import RouterError
from router.profile import Profile, load_profile, make_profile

_SOURCE = (
    b'name = "opening"\nversion = "1"\nrequires = ["list_stock"]\ndescription = "Opens."\n'
    b'instructions = """\nRead the stock.\n"""\n'
)
_KEYS = ("name", "version", "requires", "description", "instructions", "category", "files")
_VALUES = ('"a"', "1", "['x']", "'''\nx\n'''", "9" * 4_400, "1979-05-27", "{a = 1}", "nan", "[[1]]")


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    roster = small_roster()
    source = place / "opening.toml"
    source.write_bytes(_SOURCE)
    store, export = place / "store.sqlite", place / "export.jsonl"
    heads = light_heads().model_dump_json(exclude={"digest"}).encode()
    with Store(store) as opened:
        opened.skills.stage(read_source(source))
        opened.skills.activate("opening", "1", evaluate=lambda *_: {"a": True}, required={"a"})
        shelf = opened.shelf(Profile)
        shelf.stage(make_profile("p", "1", roster=roster, requests_digest="r", heads=heads))
        shelf.activate("p", "1", evaluate=lambda *_: {"a": True}, required={"a"})
        opened.export(export)
    results = place / "results.sqlite"
    with ResultStore(results) as kept:
        kept.put("d" * 64, "model", Reply(loaded=("kite-repair",)))
        kept.started("e" * 64)

    def feed_store(data: bytes) -> bool:
        file = _written(place / "fuzzed.sqlite", data)
        good = True
        steps: tuple[Callable[[Store], Any], ...] = (
            lambda s: s.check(),
            lambda s: s.snapshot().roster(),
            lambda s: [s.skills.get(row.name, row.version) for row in s.skills.versions()],
            lambda s: s.skills.log(),
            lambda s: s.export(place / "again.jsonl"),
            lambda s: s.skills.stage(read_source(source)),
            lambda s: s.skills.rollback("opening"),
        )
        try:
            with Store(file) as opened:
                for step in steps:
                    try:
                        found = step(opened)
                        good = good and not (step is steps[0] and found)
                    except (StoreError, RosterError) as error:
                        good = clean(error)
        except StoreError as error:
            good = clean(error, file.name)
        try:
            load_profile("p", roster, file)
        except RouterError as error:
            return clean(error)
        return good

    def feed_export(data: bytes) -> bool:
        target = _written(place / "imported.sqlite", b"")
        target.unlink()
        file = _written(place / "fuzzed.jsonl", data)
        with Store(target) as opened:
            try:
                opened.import_(file)
            except StoreError as error:
                clean(error, file.name)
                assert not opened.skills.versions(), "a refused import that left something"
                return False
            assert not opened.check(), "an accepted import that is not whole"
        return True

    def feed_results(data: bytes) -> bool:
        file = _written(place / "fuzzed-results.sqlite", data)
        try:
            with ResultStore(file) as kept:
                kept.get("d" * 64)
                kept.batches()
                kept.recorded_arms("model")
                kept.interrupted()
        except ResultStoreError as error:
            return clean(error, file.name)
        return True

    def feed_source(data: bytes) -> bool:
        file = _written(place / "fuzzed.toml", data)
        try:
            read_source(file)
        except StoreError as error:
            return clean(error, file.name)
        return True

    databases = [store.read_bytes()]
    return [
        Target("store-database", 2, databases, lambda r: flipped(r, databases[0]), feed_store,
               flipped),
        Target("store-export", 2, [export.read_bytes()],
               lambda r: _resealed(r, export.read_bytes()), feed_export),
        Target("results-database", 1, [results.read_bytes()],
               lambda r: flipped(r, results.read_bytes()), feed_results, flipped),
        Target("skill-toml", 4, [_SOURCE], _build_source, feed_source),
    ]  # fmt: skip


def _written(file: Path, data: bytes) -> Path:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            Path(f"{file}{suffix}").unlink()
    file.write_bytes(data)
    return file


def _resealed(random: Random, export: bytes) -> bytes:
    """An export that was changed by somebody who knows how its last line is made."""
    lines = export.rstrip(b"\n").split(b"\n")[:-1]
    at = random.randrange(len(lines))
    if random.random() < 0.5:
        lines[at] = mutated(random, lines[at]).replace(b"\n", b" ")
    else:
        with suppress(ValueError):
            line = json.loads(lines[at])
            kind = next(iter(line))
            if isinstance(line[kind], dict):
                key = random.choice(list(line[kind]))
                line[kind][key] = random.choice((None, 1, text(random), [], {}))
            lines[at] = json.dumps(line).encode()
    body = b"\n".join(lines) + b"\n"
    return body + json.dumps({"end": sha256(body).hexdigest()}).encode() + b"\n"


def _build_source(random: Random) -> bytes:
    lines = [
        f"{random.choice(_KEYS)} = {random.choice((*_VALUES, json.dumps(text(random))))}"
        for _ in range(random.randrange(6))
    ]
    if random.random() < 0.5:
        lines[:0] = _SOURCE.decode().split("\n")[:2]
    return "\n".join(lines).encode("utf-8", "surrogatepass")
