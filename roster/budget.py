"""A context budget: what gives way when blocks and skills do not all fit."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from roster.context import ContextBlock
from roster.disclosure import SkillSection
from roster.errors import RosterError

Kind = Literal["context", "skill_body", "skill"]
"""What was left out: a block, a skill's instructions (its line stays), or the skill."""


class BudgetError(RosterError):
    """What is required does not fit by itself."""


class Omission(BaseModel):
    """One thing that was left out.

    Attributes:
        kind: What it is.
        name: Title of the block or name of the skill.
        size: How much room it gave back.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    name: str
    size: int


class Budgeted(BaseModel):
    """What fits.

    Attributes:
        blocks: The blocks that stay, in order and whole.
        sections: The skills that stay, in order; a demoted one shows its line alone.
        omissions: What was left out, in the order in which it went.
        size: Size of what stays.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    blocks: tuple[ContextBlock, ...]
    sections: tuple[SkillSection, ...]
    omissions: tuple[Omission, ...]
    size: int


def fit_budget(
    blocks: Iterable[ContextBlock],
    sections: Iterable[SkillSection],
    limit: int,
    priorities: Mapping[str, int] | None = None,
    measure: Callable[[str], int] | None = None,
) -> Budgeted:
    """Leave out as much as it takes to fit, each thing whole.

    The lowest priority goes first and, within one priority, what came last: skills come after
    blocks. A skill that shows its instructions first falls back to its line; it goes itself only
    when that was not enough.

    Args:
        blocks: Blocks of context, in order.
        sections: What is shown of the skills, in order.
        limit: Room, in the unit of `measure`; at least 0.
        priorities: Skill name to priority; 0 for one that is not named.
        measure: Size of a text; by default its bytes in UTF-8. A token counter works too.

    Raises:
        BudgetError: If the required blocks alone are too large.
        ValueError: If `limit` is negative.
    """
    if limit < 0:
        raise ValueError(f"limit must be at least 0, not {limit}")
    measure = measure or _utf8_bytes
    priorities = priorities or {}
    kept_blocks: list[ContextBlock | None] = list(blocks)
    kept_sections: list[SkillSection | None] = list(sections)
    sizes = [measure(b.title) + measure(b.content) for b in kept_blocks if b is not None]
    sizes += [measure(s.text) for s in kept_sections if s is not None]
    total = sum(sizes)
    # Victims: lowest priority first, then the last one. A demoted skill goes back on the heap.
    victims = [(b.priority, -i) for i, b in enumerate(kept_blocks) if b and not b.required]
    first = len(kept_blocks)
    for number, section in enumerate(kept_sections, start=first):
        if section:
            victims.append((priorities.get(section.name, 0), -number))
    heapq.heapify(victims)
    omissions: list[Omission] = []
    while total > limit:
        if not victims:
            raise BudgetError(
                f"the required context alone has size {total}, and there is room for {limit}; "
                "raise the budget or require less"
            )
        priority, minus = heapq.heappop(victims)
        number = -minus
        size = sizes[number]
        if number < first:
            block = kept_blocks[number]
            kept_blocks[number] = None
            omissions.append(Omission(kind="context", name=block.title if block else "", size=size))
            total -= size
            continue
        section = kept_sections[number - first]
        if section is None:
            continue
        if section.body is not None:
            demoted = section.model_copy(update={"body": None})
            kept_sections[number - first] = demoted
            sizes[number] = measure(demoted.text)
            gained = size - sizes[number]
            omissions.append(Omission(kind="skill_body", name=section.name, size=gained))
            heapq.heappush(victims, (priority, minus))
        else:
            kept_sections[number - first] = None
            gained = size
            omissions.append(Omission(kind="skill", name=section.name, size=gained))
        total -= gained
    return Budgeted(
        blocks=tuple(block for block in kept_blocks if block is not None),
        sections=tuple(section for section in kept_sections if section is not None),
        omissions=tuple(omissions),
        size=total,
    )


def _utf8_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
