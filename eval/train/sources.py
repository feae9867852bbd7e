"""Where rosters with labelled turns are found for training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from eval.data import LabelledTurn, RequestsError, load_turns
from eval.paths import requests_folder
from roster import Roster

BUNDLED = "bundled"
SMALL_TALK = 14
"""Turns that ask for nothing, added to each roster: every agent hears them all day."""


@dataclass(frozen=True)
class Source:
    """One roster with its labelled turns.

    Attributes:
        group: Its name; splits never cut through a group.
        roster: The roster.
        turns: The labelled turns.
    """

    group: str
    roster: Roster
    turns: list[LabelledTurn]


def find_sources(
    folders: Iterable[str | Path],
    archive: str | Path | None = None,
    bundled: bool = True,
    small_talk: bool = True,
) -> list[Source]:
    """The bundled roster and every folder that holds `roster.jsonl` and `requests.jsonl`.

    Args:
        folders: Each is such a folder, or holds such folders.
        archive: A folder of skill folders; with it, the labelled turns under `requests/community`
            are used too, each with the skills its `.roster.txt` lists.
        bundled: Whether to include the bundled roster.
        small_talk: Whether to add some small talk to each roster's turns.

    Raises:
        RequestsError: If a folder holds none, or its files are wrong.
    """
    found: list[Source] = []
    if bundled:
        roster = Roster.bundled()
        found.append(Source(BUNDLED, roster, load_turns(requests_folder() / "bundled.jsonl")))
    for folder in folders:
        path = Path(folder).expanduser()
        inside = [path] if (path / "roster.jsonl").is_file() else sorted(path.glob("*/"))
        pairs = [p for p in inside if (p / "roster.jsonl").is_file()]
        if not pairs:
            raise RequestsError(
                f"{path}: holds no roster.jsonl with requests.jsonl beside it; give a folder that "
                "does, or a folder of such folders"
            )
        for pair in pairs:
            roster = Roster.from_json(pair / "roster.jsonl")
            turns = load_turns(pair / "requests.jsonl", roster.names)
            found.append(Source(pair.name, roster, turns))
    if archive is not None:
        found += _community(Path(archive).expanduser())
    if not small_talk:
        return found
    talk = load_turns(requests_folder() / "smalltalk.jsonl")
    return [_with_small_talk(source, talk) for source in found]


def pick_groups(sources: Sequence[Source], patterns: Iterable[str]) -> list[Source]:
    """The sources whose group matches a pattern.

    Args:
        sources: The sources.
        patterns: Names, or shell patterns such as ``0[0-7]``.

    Raises:
        RequestsError: If a pattern matches none.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        matching = {s.group for s in sources if fnmatchcase(s.group, pattern)}
        if not matching:
            groups = ", ".join(source.group for source in sources)
            raise RequestsError(f"groups: {pattern!r} matches none of {groups}")
        chosen |= matching
    return [source for source in sources if source.group in chosen]


def _with_small_talk(source: Source, talk: Sequence[LabelledTurn]) -> Source:
    """A source with some small talk that it does not have already, drawn by the group's name."""
    rng = np.random.default_rng(list(source.group.encode()))
    known = {turn.text for turn in source.turns}
    drawn = [talk[int(i)] for i in rng.permutation(len(talk))[:SMALL_TALK]]
    return Source(
        source.group, source.roster, [*source.turns, *(t for t in drawn if t.text not in known)]
    )


def _community(archive: Path) -> list[Source]:
    found = []
    for listing in sorted((requests_folder() / "community").glob("*.roster.txt")):
        wanted: Sequence[str] = listing.read_text(encoding="utf-8").split()
        missing = [name for name in wanted if not (archive / name).is_dir()]
        if missing:
            raise RequestsError(
                f"{archive}: lacks {len(missing)} skills of {listing.name}, first {missing[0]}; "
                "give the folder that community-20k was unpacked to"
            )
        skills = [skill for name in wanted for skill in Roster.from_directory(archive / name)]
        roster = Roster.from_skills(skills)
        group = listing.name.removesuffix(".roster.txt")
        turns = load_turns(listing.with_name(f"{group}.jsonl"), roster.names)
        found.append(Source(f"community-{group}", roster, turns))
    return found
