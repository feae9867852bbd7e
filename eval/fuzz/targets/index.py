"""The index cache: files whose bytes were flipped, cut or exchanged."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from eval.fuzz.generate import Random, flipped
from eval.fuzz.light import light_router, small_roster
from eval.fuzz.target import Target, require
from router.pipeline import Router

_ASKED = ("mend the torn sail", "oil my bike chain", "what is a tax?")


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    roster = small_roster()
    cache = place / "cache"
    right = _answers(light_router(roster, cache))
    files = {
        str(file.relative_to(cache)): file.read_bytes()
        for file in sorted(cache.rglob("*"))
        if file.is_file() and file.stat().st_size
    }

    def feed(data: bytes) -> bool:
        name, _, content = data.partition(b"\n")
        path = name.decode("utf-8", "replace")
        if path not in files:
            return False
        shutil.rmtree(cache)
        for known, kept in files.items():
            (cache / known).parent.mkdir(parents=True, exist_ok=True)
            (cache / known).write_bytes(content if known == path else kept)
        before = (cache / path).stat().st_ino
        require(
            _answers(light_router(roster, cache)) == right, "other answers from a spoiled cache"
        )
        written = (cache / path).exists() and (cache / path).stat().st_ino == before
        return written

    seeds = [name.encode() + b"\n" + content for name, content in files.items()]
    return [Target("index-cache", 2, seeds, lambda r: _spoiled(r, r.choice(seeds)), feed, _spoiled)]


def _answers(router: Router) -> list[object]:
    made = [router.suggest(request) for request in _ASKED]
    return [(one.name, one.reason, one.ranking, one.gate, one.reread) for one in made]


def _spoiled(random: Random, seed: bytes) -> bytes:
    name, _, content = seed.partition(b"\n")
    if random.random() < 0.05:
        content = random.randbytes(random.randrange(2_000))
    return name + b"\n" + flipped(random, content)
