"""Several folders of skills as one roster."""

from __future__ import annotations

import os
from collections.abc import Sequence

from roster.problem import Problem
from roster.roster import Roster
from roster.skill import Skill


def layered(folders: Sequence[str | os.PathLike[str]]) -> Roster:
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
        part = Roster.from_path(folder, duplicates="first")
        problems.extend(part.problems)
        for skill in part:
            skills.setdefault(skill.name, skill)
    return Roster(skills.values(), problems)
