"""Which rosters heads are learned on, also where there is only the bundled one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from eval.data import LabelledTurn, load_turns
from eval.paths import requests_folder
from eval.train.sources import BUNDLED, Source, find_sources
from roster import Roster

PARTS = 3
"""Rosters that the bundled one is divided into when there is no other."""
LANGUAGES = "languages-train.jsonl"


def sources_for_heads(
    folders: Iterable[str | Path], archive: str | Path | None = None, languages: bool = False
) -> list[Source]:
    """The rosters with labelled turns that heads are learned on.

    Args:
        folders: See `find_sources`.
        archive: See `find_sources`.
        languages: Whether to add the bundled roster's turns in Chinese, Japanese, Spanish, German
            and French.

    Returns:
        Two sources or more: without others, the bundled roster in `PARTS` parts, so that something
        can be held out.

    Raises:
        RequestsError: If a folder holds none, or its files are wrong.
    """
    sources = find_sources(folders, archive)
    if languages:
        turns = load_turns(requests_folder() / LANGUAGES)
        sources = [
            replace(source, turns=[*source.turns, *turns]) if source.group == BUNDLED else source
            for source in sources
        ]
    return sources if len(sources) > 1 else divided(sources[0], PARTS)


def divided(source: Source, parts: int, seed: int = 0) -> list[Source]:
    """Smaller rosters that share no skill and no turn.

    Args:
        source: A roster with labelled turns.
        parts: How many, 2 or more.
        seed: Seed of the division.

    Returns:
        One source a part. A covered turn goes with its skill, a near miss with the skill it is near
        to, and all others are dealt out.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(source.roster))
    place = {source.roster[int(row)].name: at % parts for at, row in enumerate(order)}
    turns: list[list[LabelledTurn]] = [[] for _ in range(parts)]
    dealt = 0
    for turn in source.turns:
        at = place.get(turn.gold or turn.near or "")
        if at is None:
            at, dealt = dealt % parts, dealt + 1
        turns[at].append(turn)
    rosters = [
        Roster.from_skills([skill for skill in source.roster if place[skill.name] == part])
        for part in range(parts)
    ]
    return [
        Source(f"{source.group}-{part}", roster, turns[part]) for part, roster in enumerate(rosters)
    ]
