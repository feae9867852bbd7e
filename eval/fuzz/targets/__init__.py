"""The public entries that are fuzzed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
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

MODULES = {
    skills: ("skill-md", "skill-folder", "roster-command"),
    rosters: ("roster-json", "roster-jsonl", "requests-file"),
    files: ("thresholds-toml", "prices-toml", "cost-toml", "variants-toml", "band-json",
            "wording-json", "block-template", "heads-file"),
    settings: ("agent-settings",),
    hook: ("hook-stdin", "transcript", "service-answer"),
    http: ("http-suggest", "http-hook", "http-systemone", "http-raw"),
    mcp: ("mcp-message",),
    replies: ("claude-reply", "systemone-reply", "systemone-body"),
    calls: ("suggest", "anthropic-params", "openai-params", "load-skill"),
    stores: ("store-database", "store-export", "results-database", "skill-toml"),
    index: ("index-cache",),
}  # fmt: skip
"""Each module, and the targets it makes."""

NAMES = tuple(name for names in MODULES.values() for name in names)
"""All targets, in their order."""


@contextmanager
def open_targets(place: Path, names: Collection[str] = NAMES) -> Iterator[list[Target]]:
    """Targets, with what they need running.

    Args:
        place: A folder of their own.
        names: Which of `NAMES`.
    """
    with ExitStack() as stack:
        found: list[Target] = []
        for module, own in MODULES.items():
            if set(own) & set(names):
                folder = place / module.__name__.rpartition(".")[2]
                folder.mkdir(parents=True)
                found += (t for t in module.targets(folder, stack) if t.name in names)
        yield found
