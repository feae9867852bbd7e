"""The limits of the Agent Skills specification (https://agentskills.io/specification)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from roster.problem import Problem

if TYPE_CHECKING:
    from roster.roster import Roster
    from roster.skill import Skill

MAX_SPEC_NAME = 64
"""Longest name, in characters, that the specification allows."""

MAX_SPEC_DESCRIPTION = 1024
"""Longest description, in characters, that the specification allows."""

_SPEC_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def check_skill(
    skill: Skill, path: str, *, folder: str | None = None, lines: Mapping[str, int] | None = None
) -> list[Problem]:
    """Hold one skill against the specification.

    Args:
        skill: The skill.
        path: Its file, for the problems.
        folder: Name of its folder, which the name should equal; None where there is no folder.
        lines: 1-based lines of its fields, for the problems.

    Returns:
        One warning for each limit the skill exceeds.
    """
    lines = lines or {}
    problems: list[Problem] = []

    def warn(field: str, code: str, message: str, remedy: str) -> None:
        problems.append(
            Problem(
                path=path,
                line=lines.get(field, 1),
                severity="warning",
                code=code,
                message=message,
                remedy=remedy,
            )
        )

    if len(skill.name) > MAX_SPEC_NAME:
        warn(
            "name",
            "name-too-long",
            f"the name has {len(skill.name)} characters",
            f"shorten it to {MAX_SPEC_NAME}",
        )
    if not _SPEC_NAME.fullmatch(skill.name):
        warn(
            "name",
            "name-format",
            f"the name {skill.name!r} is not made of a-z, 0-9 and single hyphens",
            "use lower-case words joined by hyphens",
        )
    if folder is not None and skill.name != folder:
        warn(
            "name",
            "name-not-folder",
            f"the name {skill.name!r} differs from the folder {folder!r}",
            "give both the same name",
        )
    if not skill.description.strip():
        warn(
            "description",
            "description-missing",
            "there is no description",
            "write what the skill does and when to use it",
        )
    if len(skill.description) > MAX_SPEC_DESCRIPTION:
        warn(
            "description",
            "description-too-long",
            f"the description has {len(skill.description)} characters",
            f"shorten it to {MAX_SPEC_DESCRIPTION}",
        )
    if not skill.body.strip():
        warn(
            "body",
            "body-missing",
            "the skill has no instructions",
            "write them below the frontmatter",
        )
    return problems


def as_errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The same problems, every warning raised to an error."""
    return tuple(problem.model_copy(update={"severity": "error"}) for problem in problems)


def check(roster: Roster, strict: bool = False) -> tuple[Problem, ...]:
    """Every problem of a roster, as found when it was loaded.

    Args:
        roster: The roster.
        strict: Whether warnings count as errors.

    Returns:
        The problems in the order of the files.
    """
    return as_errors(roster.problems) if strict else roster.problems
