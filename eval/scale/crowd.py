"""A crowd of skills of any size around rosters that have labelled requests.

The first skills are those of the rosters given; then come the skills of an archive, and when those
are used up, variants of them, as a public registry holds them: copies, forks whose body was edited
at its end, and renamed ones with a longer description. Every skill of a crowd is in every larger
crowd, so what was embedded for one serves the next.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from roster import Roster, Skill
from roster.loading import skill_from_bytes
from roster.text import MAX_NAME, slug

COPY, FORK, RENAMED = "copy", "fork", "renamed"
_KINDS = (COPY, FORK, RENAMED, FORK, RENAMED, FORK, RENAMED, COPY)
_TEAMS = (
    "platform", "billing", "mobile", "research", "growth", "support", "payments", "search",
    "infrastructure", "design", "finance", "security", "data", "sales", "legal", "operations",
)  # fmt: skip
_ADDED = (
    "Agreed with the {team} team: keep the steps above in this order, and note in the change log "
    "what was done and by whom. Edition {edition}."
)


def crowd(inside: Iterable[Roster], archive: Path, size: int) -> Roster:
    """A roster of `size` skills.

    Args:
        inside: Rosters that are in it whole, under their own names, when they fit.
        archive: A .tar.zst of skill folders, or a folder of them.
        size: Number of skills.

    Raises:
        RosterError: If the archive cannot be read.
    """
    taken: set[str] = set()
    skills: list[Skill] = []
    for skill in _all(inside, archive):
        if len(skills) == size:
            break
        named = _free(skill, taken)
        taken.add(named.name)
        skills.append(named)
    return Roster.from_skills(skills)


def _all(inside: Iterable[Roster], archive: Path) -> Iterator[Skill]:
    for roster in inside:
        yield from roster
    real: list[Skill] = []
    for skill in archived(archive):
        real.append(skill)
        yield skill
    edition = 0
    while real:
        edition += 1
        for at, skill in enumerate(real):
            yield variant(skill, at, edition)


def archived(archive: Path) -> Iterator[Skill]:
    """The skills of an archive, in an order that mixes its sources; unreadable ones left out."""
    if archive.is_dir():
        found = [
            (path.parent.name, path.read_bytes()) for path in sorted(archive.glob("*/SKILL.md"))
        ]
    else:
        found = list(_unpacked(archive))
    # The archive is sorted by source: a crowd of one source would be no registry.
    found.sort(key=lambda item: hashlib.sha256(item[0].encode()).digest())
    for folder, data in found:
        skill, _ = skill_from_bytes(data, f"{folder}/SKILL.md", folder)
        if skill is not None:
            yield skill


def _unpacked(archive: Path) -> Iterator[tuple[str, bytes]]:
    import zstandard

    with archive.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                path = Path(member.name)
                content = tar.extractfile(member) if member.isfile() else None
                if content is not None and path.name == "SKILL.md":
                    yield path.parent.name, content.read()


def variant(skill: Skill, at: int, edition: int) -> Skill:
    """A skill as another source of a registry would hold it.

    Args:
        skill: The skill.
        at: Its place, which decides the kind.
        edition: Which round of variants this is.

    Returns:
        A copy; a fork, whose body ends with another paragraph; or a renamed one with a longer
        description. Name prefixes come later, where names clash.
    """
    kind = _KINDS[(at + edition) % len(_KINDS)]
    team = _TEAMS[(at * 7 + edition) % len(_TEAMS)]
    if kind == COPY:
        return skill
    if kind == FORK:
        body = f"{skill.body.rstrip()}\n\n{_ADDED.format(team=team, edition=edition)}\n"
        return skill.model_copy(update={"body": body})
    bare = skill.name.rsplit(":", 1)[-1]
    name = f"{bare[: MAX_NAME // 2]}-{team}"
    description = f"{skill.description.rstrip()} For the {team} team, edition {edition}."
    return skill.model_copy(update={"description": description}).renamed(name)


def _free(skill: Skill, taken: set[str]) -> Skill:
    """The skill under a name that is free: its own, else with the prefix that a folder gives."""
    if skill.name not in taken:
        return skill
    folder = Path(skill.source or "more").parent.name or "more"
    bare = skill.name.rsplit(":", 1)[-1]
    count = 1
    while True:
        label = slug(f"{folder[:40]}-{count}") or f"more-{count}"
        name = f"{label}:{bare[: MAX_NAME - len(label) - 1]}"
        if name not in taken:
            return skill.renamed(name)
        count += 1
