"""What to do with skills of one name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from roster.errors import DuplicateSkillError
from roster.problem import Problem
from roster.skill import Skill
from roster.text import MAX_NAME, is_safe_name, slug

Duplicates = Literal["error", "first", "namespace"]
"""Raise; keep the first; or put the shortest path prefix that tells them apart before the name."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A skill and where it was found.

    Attributes:
        skill: The skill.
        parts: Names of the folders below the root that lead to it, its own folder included.
        where: The place as shown to people.
        line: 1-based line, for a record of a JSON roster.
    """

    skill: Skill
    parts: tuple[str, ...]
    where: str
    line: int | None = None


def settle(placed: Sequence[Placed], policy: Duplicates) -> tuple[list[Skill], list[Problem]]:
    """Give every skill a name of its own.

    Args:
        placed: The skills in roster order.
        policy: "error", "first" or "namespace". A namespaced name is ``prefix:name``, where the
            prefix is the shortest run of leading folders that no other skill of that name shares,
            joined by ``/``: ``team-a:deploy``, ``packs/web:deploy``.

    Returns:
        The skills kept, in the same order, and a warning for each one dropped or renamed.

    Raises:
        DuplicateSkillError: With "error", at the first name met twice.
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, item in enumerate(placed):
        groups[item.skill.name].append(index)
        if policy == "error" and len(groups[item.skill.name]) == 2:
            first = placed[groups[item.skill.name][0]]
            raise DuplicateSkillError(item.skill.name, _place(first), _place(item))
    if policy == "first":
        return _keep_first(placed, groups)
    return _namespace(placed, groups)


def _place(item: Placed) -> str:
    return item.where if item.line is None else f"{item.where}:{item.line}"


def _keep_first(
    placed: Sequence[Placed], groups: dict[str, list[int]]
) -> tuple[list[Skill], list[Problem]]:
    problems = [
        Problem(
            path=placed[index].where,
            line=placed[index].line or 1,
            severity="warning",
            code="duplicate-dropped",
            message=f"{name!r} is left out: {_place(placed[first])} has the same name",
            remedy="rename one of the two",
        )
        for name, (first, *others) in groups.items()
        for index in others
    ]
    kept = sorted(first for first, *_ in groups.values())
    return [placed[index].skill for index in kept], problems


def _namespace(
    placed: Sequence[Placed], groups: dict[str, list[int]]
) -> tuple[list[Skill], list[Problem]]:
    skills = [item.skill for item in placed]
    taken = {name for name, members in groups.items() if len(members) == 1}
    problems: list[Problem] = []
    for name, members in groups.items():
        if len(members) == 1:
            continue
        prefixes = _prefixes([placed[index].parts for index in members])
        for index, prefix in zip(members, prefixes, strict=True):
            new = _free_name(prefix, name, taken)
            taken.add(new)
            skills[index] = skills[index].renamed(new)
            problems.append(
                Problem(
                    path=placed[index].where,
                    line=placed[index].line or 1,
                    severity="warning",
                    code="duplicate-renamed",
                    message=f"{len(members)} skills are named {name!r}; this one is {new!r}",
                    remedy="give each skill a name of its own",
                )
            )
    return skills, problems


def _prefixes(paths: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """For each path its shortest prefix that no other one shares; a path inside another whole."""
    owners: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for path in paths:
        for length in range(1, len(path) + 1):
            owners[path[:length]] += 1
    return [
        next(
            (path[:length] for length in range(1, len(path) + 1) if owners[path[:length]] == 1),
            path,
        )
        for path in paths
    ]


def _free_name(prefix: tuple[str, ...], name: str, taken: set[str]) -> str:
    parts = [part if is_safe_name(part) else slug(part) for part in prefix]
    label = "/".join(part for part in parts if part)
    wanted = f"{label}:{name}" if label else name
    if not is_safe_name(wanted):
        # Too long: what tells them apart most is the end of the prefix.
        label = slug(label[-(MAX_NAME - len(name) - 8) :]) if len(name) < MAX_NAME - 16 else ""
        wanted = f"{label}:{name}" if label else name[: MAX_NAME - 8].rstrip("-.:/")
    free, count = wanted, 1
    while free in taken:
        count += 1
        free = f"{wanted}-{count}"
    return free
