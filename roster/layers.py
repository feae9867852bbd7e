"""Several folders of skills as one roster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from roster.problem import Problem
from roster.roster import Roster
from roster.skill import Skill
from roster.text import is_safe_name


class Layer(NamedTuple):
    """A folder of skills and what their names begin with.

    Attributes:
        path: The folder, or a roster file.
        prefix: "" for skills under their own names. Else each is named ``prefix:folder``, as
            agents name the skills of a plugin: by the skill's folder, whatever its file says.
    """

    path: str
    prefix: str = ""


def layered(folders: Sequence[str | os.PathLike[str] | Layer]) -> Roster:
    """One roster of several folders, the nearest first.

    Args:
        folders: Folders of SKILL.md files, or roster files. Of two skills of one name, that of
            the first counts.

    Returns:
        The skills of all of them, in the order of the folders.

    Raises:
        RosterError: If one of them is not there or is no roster.
    """
    skills: dict[str, Skill] = {}
    problems: list[Problem] = []
    for folder in folders:
        layer = folder if isinstance(folder, Layer) else Layer(os.fspath(folder))
        part = Roster.from_path(layer.path, duplicates="first")
        problems.extend(part.problems)
        for skill in _named(part, layer.prefix):
            skills.setdefault(skill.name, skill)
    return Roster(skills.values(), problems)


def _named(part: Roster, prefix: str) -> Iterator[Skill]:
    for skill in part:
        if not prefix:
            yield skill
            continue
        folder = Path(skill.source).parent.name if skill.source else skill.name
        for name in (f"{prefix}:{folder}", f"{prefix}:{skill.name}"):
            if is_safe_name(name):
                yield skill.renamed(name)
                break
