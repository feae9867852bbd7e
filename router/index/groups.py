"""Exact duplicates: copies of a skill stand in the index once and never compete."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from roster import Skill


def group_key(skill: Skill) -> bytes:
    """16 bytes that copies of a skill share: of its own name, its texts and what it requires.

    The prefix that tells copies apart (``team-a:deploy``) and the category, which may come from
    the folder, are left out.
    """
    bare = skill.name.rsplit(":", 1)[-1]
    texts = [bare, skill.description, skill.body, *skill.requires]
    return hashlib.sha256(json.dumps(texts).encode()).digest()[:16]


def grouped(skills: Iterable[Skill]) -> dict[bytes, list[Skill]]:
    """The skills by key; keys and members in the order they come."""
    found: dict[bytes, list[Skill]] = {}
    for skill in skills:
        found.setdefault(group_key(skill), []).append(skill)
    return found
