"""Active skills as items of an agent's context."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from roster.skill import Skill
from roster.store.records import SkillVersion, sha256


def skill_items(
    skills: Iterable[SkillVersion | Skill], allowed: Collection[str], byte_budget: int
) -> list[dict[str, Any]]:
    """Whole skills for a context: each one eligible, and only while the items fit the budget.

    A skill that does not fit is left out, never cut: half a procedure misleads. Skills after it
    still count when they fit.

    Args:
        skills: The skills in order of preference.
        allowed: Tools the agent may use this turn.
        byte_budget: Most bytes of the items as one JSON array.

    Returns:
        Records with ``kind``, ``name``, ``version``, ``content`` and ``content_sha256`` (of the
        content's UTF-8 bytes).

    Raises:
        ValueError: If the budget is negative.
    """
    if byte_budget < 0:
        raise ValueError(f"byte_budget must be 0 or more, not {byte_budget}")
    tools = frozenset(allowed)
    items: list[dict[str, Any]] = []
    used = len("[]")
    for skill in skills:
        if not tools.issuperset(skill.requires):
            continue
        content = skill.instructions if isinstance(skill, SkillVersion) else skill.body
        item = {
            "kind": "skill_guidance",
            "name": skill.name,
            "version": skill.version,
            "content": content,
            "content_sha256": sha256(content.encode("utf-8")),
        }
        size = len(json.dumps(item)) + (len(", ") if items else 0)
        if used + size <= byte_budget:
            items.append(item)
            used += size
    return items
