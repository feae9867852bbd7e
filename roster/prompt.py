"""The index of a roster, as an agent's system prompt shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from roster.skill import Skill
from roster.text import one_line

MIN_WIDTH = 4
"""Narrowest description: one character and the three dots."""


def render_index(skills: Iterable[Skill], width: int = 60) -> str:
    """Render the index: one line a category, one line a skill, both sorted by name.

    The same skills and width always give the same bytes, whatever the order of the skills.

    Args:
        skills: The skills.
        width: Longest description in characters, the closing ``...`` included.

    Returns:
        Lines ``  category:`` and ``    - name: description``, without a final line break; "" for
        no skills.

    Raises:
        ValueError: If `width` is less than 4.
    """
    if width < MIN_WIDTH:
        raise ValueError(f"width must be at least {MIN_WIDTH}, not {width}")
    by_category: defaultdict[str, list[Skill]] = defaultdict(list)
    for skill in skills:
        by_category[skill.category].append(skill)
    lines: list[str] = []
    for category in sorted(by_category):
        lines.append(f"  {_inert(category)}:")
        for skill in sorted(by_category[category], key=lambda each: (each.name, each.digest)):
            lines.append(f"    - {skill.name}: {index_description(skill, width)}".rstrip())
    return "\n".join(lines)


def index_description(skill: Skill, width: int = 60) -> str:
    """The description of one skill as the index shows it: one line of at most `width` characters.

    Args:
        skill: The skill.
        width: Longest result in characters.

    Returns:
        The short description where the skill has one, else the full one, cut with ``...``.
    """
    text = _inert(skill.index_description or skill.description)
    return text if len(text) <= width else text[: width - 3] + "..."


def _inert(text: str) -> str:
    """One line that cannot close a tag of the prompt around it."""
    return one_line(text).replace("</", "< /")
