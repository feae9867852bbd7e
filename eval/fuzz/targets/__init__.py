"""The public entries that are fuzzed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from eval.fuzz.target import Target
from eval.fuzz.targets import (
    calls,
    files,
    hook,
    http,
    index,
    mcp,
    replies,
    rosters,
    settings,
    skills,
    stores,
)


@contextmanager
def open_targets(place: Path) -> Iterator[list[Target]]:
    """All targets, with what they need running.

    Args:
        place: An empty folder of their own.
    """
    with ExitStack() as stack:
        found = []
        for module in (
            skills, rosters, files, settings, hook, http, mcp, replies, calls, stores, index,
        ):  # fmt: skip
            folder = place / module.__name__.rpartition(".")[2]
            folder.mkdir(parents=True)
            found += module.targets(folder, stack)
        yield found
