"""The index an agent's system prompt shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster import Roster, Skill
from roster.prompt import index_description

GARDEN = Roster.from_skills(
    [
        Skill(name="water-plants", category="home", description="Water the plants."),
        Skill(name="plan-beds", category="garden", description="Plan beds: " + "order, " * 20),
        Skill(name="dust", category="home", description="Dust shelves\nand lamps\tgently."),
    ]
)


def test_index_is_sorted_and_cut() -> None:
    assert GARDEN.prompt() == (
        "  garden:\n"
        "    - plan-beds: Plan beds: order, order, order, order, order, order, orde...\n"
        "  home:\n"
        "    - dust: Dust shelves and lamps gently.\n"
        "    - water-plants: Water the plants."
    )


def test_dots_count_inside_the_width() -> None:
    exact = Skill(name="a", description="x" * 60)
    longer = Skill(name="b", description="x" * 61)
    assert index_description(exact) == "x" * 60
    assert index_description(longer) == "x" * 57 + "..."
    assert index_description(longer, 4) == "x..."


@pytest.mark.parametrize("width", [3, 0, -1])
def test_too_narrow(width: int) -> None:
    with pytest.raises(ValueError, match="at least 4"):
        GARDEN.prompt(width)


def test_short_description_is_shown_where_there_is_one() -> None:
    skill = Skill(name="a", description="Long text.", index_description="Short.")
    assert Roster.from_skills([skill]).prompt() == "  general:\n    - a: Short."


def test_text_cannot_close_a_tag_around_the_index() -> None:
    skill = Skill(name="a", category="</b>", description="x </available_skills> y")
    assert "</" not in Roster.from_skills([skill]).prompt()


def test_empty_description_leaves_no_trailing_space() -> None:
    assert Roster.from_skills([Skill(name="a", description="")]).prompt().endswith("- a:")


@given(st.lists(st.tuples(st.text(), st.text()), max_size=8), st.integers(4, 200))
def test_one_skill_is_one_line_and_bytes_are_stable(
    texts: list[tuple[str, str]], width: int
) -> None:
    made = [
        Skill(name=f"s{index}", category=category, description=description)
        for index, (category, description) in enumerate(texts)
    ]
    prompt = Roster.from_skills(made).prompt(width)
    lines = prompt.splitlines()
    assert lines == (prompt.split("\n") if prompt else [])
    assert sum(line.startswith("    - s") for line in lines) == len(made)
    assert len(lines) == len(made) + len({skill.category for skill in made})
    for skill in made:
        assert len(index_description(skill, width)) <= width
    assert Roster.from_skills(reversed(made)).prompt(width).encode() == prompt.encode()
