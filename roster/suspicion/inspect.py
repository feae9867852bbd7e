"""Everything that speaks against the skills of a roster."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from roster.roster import Roster
from roster.skill import Skill
from roster.suspicion.claims import claims, instructions
from roster.suspicion.copies import near_copies
from roster.suspicion.hidden import hidden_text
from roster.suspicion.known import Known
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
    return _suspicion(skill.name, _own_signs(*_texts(skill)))


def inspect_roster(
    roster: Roster, trusted: Collection[str] = (), known: Known | None = None
) -> dict[str, Suspicion]:
    """What speaks against the skills of a roster, each by itself and beside the others.

    Args:
        roster: The roster.
        trusted: Names of skills known to be genuine: they get no signs, and what poses as one of
            them weighs more.
        known: What earlier inspections found; it takes in what this one does.

    Returns:
        Suspicions with at least one sign by name, in the roster's order.
    """
    genuine, known = frozenset(trusted), known or Known()
    alike = skeletons(roster.names)
    copies = near_copies(roster.skills, genuine, known)
    found: dict[str, Suspicion] = {}
    for skill in roster:
        if skill.name in genuine:
            continue
        texts = _texts(skill)
        own = known.signs_of(texts, partial(_own_signs, *texts))
        signs = [*own, *lookalike(skill.name, alike), *copies.get(skill.name, ())]
        if signs:
            found[skill.name] = _suspicion(skill.name, signs)
    return found


def _texts(skill: Skill) -> tuple[str, str]:
    """What is inspected of a skill by itself: description and body."""
    description = skill.description[:MOST_READ]
    if skill.index_description:
        description = f"{skill.index_description[:MOST_READ]} {description}"
    return description, skill.body[:MOST_READ]


def _own_signs(description: str, body: str) -> tuple[Sign, ...]:
    return (
        *hidden_text(description, body),
        *claims(description),
        *instructions(description, body),
        *stuffing(description, body),
        *dangerous_steps(body),
    )


def _suspicion(name: str, signs: Iterable[Sign]) -> Suspicion:
    ordered = sorted(signs, key=lambda sign: (-sign.points, sign.code))
    return Suspicion(name=name, signs=tuple(ordered))
