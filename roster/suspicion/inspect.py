"""Everything that speaks against the skills of a roster."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from roster.roster import Roster
from roster.skill import Skill
from roster.suspicion.claims import claims, instructions
from roster.suspicion.copies import near_copies
from roster.suspicion.hidden import hidden_text
from roster.suspicion.names import lookalike, skeletons
from roster.suspicion.records import Sign, Suspicion
from roster.suspicion.steps import dangerous_steps
from roster.suspicion.stuffing import stuffing

REVIEW_LEVEL = 0.5
"""Score from which `roster check` shows a skill as suspicious."""

MOST_READ = 16_000
"""Characters of each text that are inspected: as many as are scored."""


def inspect_skill(skill: Skill) -> Suspicion:
    """What speaks against a skill by itself.

    Args:
        skill: The skill; it is read, never followed.

    Returns:
        The suspicion; without signs for nearly every honest skill.
    """
    return _suspicion(skill.name, _own_signs(skill))


def inspect_roster(roster: Roster, trusted: Collection[str] = ()) -> dict[str, Suspicion]:
    """What speaks against the skills of a roster, each by itself and beside the others.

    Args:
        roster: The roster.
        trusted: Names of skills known to be genuine: they get no signs, and what poses as one of
            them weighs more.

    Returns:
        Suspicions with at least one sign by name, in the roster's order.
    """
    known = frozenset(trusted)
    alike = skeletons(roster.names)
    copies = near_copies(roster.skills, known)
    found: dict[str, Suspicion] = {}
    for skill in roster:
        if skill.name in known:
            continue
        signs = [*_own_signs(skill), *lookalike(skill.name, alike), *copies.get(skill.name, ())]
        if signs:
            found[skill.name] = _suspicion(skill.name, signs)
    return found


def _own_signs(skill: Skill) -> list[Sign]:
    description = skill.description[:MOST_READ]
    if skill.index_description:
        description = f"{skill.index_description[:MOST_READ]} {description}"
    body = skill.body[:MOST_READ]
    return [
        *hidden_text(description, body),
        *claims(description),
        *instructions(description, body),
        *stuffing(description, body),
        *dangerous_steps(body),
    ]


def _suspicion(name: str, signs: Iterable[Sign]) -> Suspicion:
    ordered = sorted(signs, key=lambda sign: (-sign.points, sign.code))
    return Suspicion(name=name, signs=tuple(ordered))
