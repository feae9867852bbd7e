"""The frontmatter reader: what YAML accepts, what it rejects, and whatever else comes."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roster import Skill, is_safe_name
from roster.frontmatter import parse_frontmatter
from roster.loading import skill_from_bytes
from roster.problem import Problem


def read(text: str | bytes, folder: str = "water-plants") -> tuple[Skill, list[Problem]]:
    data = text.encode() if isinstance(text, str) else text
    skill, problems = skill_from_bytes(data, f"{folder}/SKILL.md", folder)
    assert skill is not None, problems
    return skill, problems


def codes(problems: list[Problem]) -> set[str]:
    return {problem.code for problem in problems}


def test_well_formed_file_gives_every_field_and_no_problem() -> None:
    text = (
        "---\n"
        "name: water-plants\n"
        "description: Water the plants on a schedule.\n"
        "version: 1.10\n"
        "requires: [terminal, calendar]\n"
        "metadata:\n"
        "  category: home\n"
        "---\n"
        "\n# Water\n\nPour slowly.\n"
    )
    skill, problems = read(text)
    assert problems == []
    assert skill.name == "water-plants"
    assert skill.description == "Water the plants on a schedule."
    assert skill.version == "1.10"
    assert skill.requires == ("terminal", "calendar")
    assert skill.category == "home"
    assert skill.body == "# Water\n\nPour slowly."
    assert skill.source == "water-plants/SKILL.md"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Plan beds: order, spacing, water.", "Plan beds: order, spacing, water."),
        ("[Garden] Plan beds", "[Garden] Plan beds"),
        ("[Garden, beds", "[Garden, beds"),
        ("{{plan}} for beds", "{{plan}} for beds"),
        ("**Garden** beds: plan them", "**Garden** beds: plan them"),
        ("@garden/beds planner", "@garden/beds planner"),
        ("`beds` planner", "`beds` planner"),
        ("- Plan the beds", "- Plan the beds"),
        ("%beds are planned", "%beds are planned"),
        ("*beds planned", "*beds planned"),
        ("&beds planned", "&beds planned"),
        ("!beds planned: yes", "!beds planned: yes"),
        ('"Plan the beds', "Plan the beds"),
        ("'Plan the gardener's beds", "Plan the gardener's beds"),
        ("'Plan the gardener's beds'", "Plan the gardener's beds"),
        ('"Plan "raised" beds"', 'Plan "raised" beds'),
        ('"Plan" beds and "water" them', '"Plan" beds and "water" them'),
        ("> Plan the beds", "Plan the beds"),
        ("| Plan the beds", "Plan the beds"),
        (">- Plan the beds", "Plan the beds"),
        ("Plan beds: for bed #3", "Plan beds: for bed #3"),
        ("Plan bed #3 and bed #4", "Plan bed #3 and bed #4"),
        ("Plan — beds – all: of them", "Plan — beds – all: of them"),
        ("種を植える: 計画", "種を植える: 計画"),
    ],
)
def test_description_is_read_as_a_person_reads_it(written: str, expected: str) -> None:
    skill, problems = read(
        f"---\nname: plan-beds\ndescription: {written}\n---\nDig.\n", "plan-beds"
    )
    assert skill.name == "plan-beds"
    assert skill.description == expected
    assert skill.body == "Dig."
    assert all(problem.line is not None for problem in problems)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (">\n  Plan the beds:\n  order and water.", "Plan the beds: order and water."),
        (">-\n  Plan the beds\n\n  and water.", "Plan the beds\nand water."),
        ("|\n  Plan the beds\n  and water.", "Plan the beds\nand water."),
        (">\nPlan the beds\nand water.", "Plan the beds and water."),
        ("|2-\n  Plan the beds", "Plan the beds"),
        ("\n  Plan the beds: order\n  and water.", "Plan the beds: order and water."),
        ("Plan the beds: order\n  and water.", "Plan the beds: order and water."),
        ("Plan the beds: order\nand water.", "Plan the beds: order and water."),
        ("\n  - Plan the beds\n  - Water them", "Plan the beds; Water them"),
        ("\n- Plan the beds: all\n- 'Water' them: all", "Plan the beds: all; 'Water' them: all"),
        ("\n  what: Plan beds\n  when: In spring", "what: Plan beds; when: In spring"),
        ("42", "42"),
        ('"Plan the beds: order\n  and water."', "Plan the beds: order and water."),
    ],
)
@pytest.mark.parametrize("spoiler", ["", "broken: [\n"])
def test_description_in_other_shapes(block: str, expected: str, spoiler: str) -> None:
    text = f"---\nname: plan-beds\ndescription: {block}\n{spoiler}license: MIT\n---\nDig.\n"
    skill, problems = read(text, "plan-beds")
    assert " ".join(skill.description.split()) == " ".join(expected.split())
    assert ("yaml-rejected" in codes(problems)) >= bool(spoiler)


def test_tabs_and_uneven_indents_are_read() -> None:
    text = (
        "---\n name: plan-beds\ndescription:\tPlan beds: all\nmetadata:\n\tcategory: garden\n"
        "\tauthor:  me: too\n---\nDig.\n"
    )
    skill, problems = read(text, "plan-beds")
    assert (skill.name, skill.description, skill.category) == (
        "plan-beds",
        "Plan beds: all",
        "garden",
    )
    assert "yaml-rejected" in codes(problems)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff---\nname: plan-beds\ndescription: Plan beds.\n---\nDig.",
        "---\r\nname: plan-beds\r\ndescription: Plan beds.\r\n---\r\nDig.",
        "---\rname: plan-beds\rdescription: Plan beds.\r---\rDig.",
        "\n\n---\nname: plan-beds\ndescription: Plan beds.\n---\nDig.",
        "----\nname: plan-beds\ndescription: Plan beds.\n-----  \nDig.",
        "—\nname: plan-beds\ndescription: Plan beds.\n—\nDig.",
        "–––\nname: plan-beds\ndescription: Plan beds.\n–––\nDig.",
        "---\nname: plan-beds\ndescription: Plan beds.\n...\nDig.",
        "<!-- Copyright us -->\n---\nname: plan-beds\ndescription: Plan beds.\n---\nDig.",
        "---\nNAME: plan-beds\nDescription: Plan beds.\n---\nDig.",
        '---\n"name": plan-beds\n"description": "Plan beds."\n---\nDig.',
        "---\nname：plan-beds\nname: plan-beds\ndescription： Plan beds.\n---\nDig.",
        "---\nmetadata:\n  name: plan-beds\n  description: Plan beds.\n---\nDig.",
        "---\nname: plan-beds # the name\ndescription: Plan beds.\nx: [\n---\nDig.",
        "name: plan-beds\ndescription: Plan beds.\n---\nDig.",
    ],
)
def test_fences_line_ends_and_spellings(text: str) -> None:
    skill, _ = read(text, "other")
    assert (skill.name, skill.description) == ("plan-beds", "Plan beds.")
    assert skill.body == "Dig."


@pytest.mark.parametrize("rest", ["# Beds\n\nDig.", "\n# Beds\n\nDig.", "\nDig.", "```\nDig\n```"])
def test_missing_closing_fence(rest: str) -> None:
    skill, problems = read(f"---\nname: plan-beds\ndescription: Plan: beds.\n{rest}", "plan-beds")
    assert (skill.name, skill.description) == ("plan-beds", "Plan: beds.")
    assert skill.body == rest.strip()
    assert "frontmatter-unclosed" in codes(problems)


def test_no_frontmatter_takes_name_from_folder_and_description_from_text() -> None:
    skill, problems = read("# Plan beds\n\nDecide what grows where.\n\nMore.\n", "plan-beds")
    assert skill.name == "plan-beds"
    assert skill.description == "Plan beds: Decide what grows where."
    assert codes(problems) == {"no-frontmatter", "name-missing", "description-missing"}


def test_a_rule_at_the_top_is_no_frontmatter() -> None:
    skill, problems = read("---\n\nJust prose here.\n\n---\n\nMore prose.\n", "plan-beds")
    assert skill.description.startswith("Just prose here.")
    assert "More prose." in skill.body
    assert "no-frontmatter" in codes(problems)


@pytest.mark.parametrize(
    "description",
    ["", "''", "~", "null", "> Use when needed.", "Use this skill when needed", "TODO"],
)
def test_description_that_says_nothing_is_replaced_by_the_opening(description: str) -> None:
    text = (
        f"---\nname: plan-beds\ndescription: {description}\n---\n# Beds\n\n## Setup\n\nInstall it."
        "\n\n```\ncode\n```\n\n## Overview\n\n| a | b |\n\nPlans **vegetable** [beds](x.md):\n\n"
        "- spacing\n- order\n"
    )
    skill, problems = read(text, "plan-beds")
    assert skill.description == "Beds: Plans vegetable beds: spacing; order"
    assert codes(problems) & {"description-says-nothing", "description-missing"}


def test_nothing_but_a_name_gives_the_name_as_description() -> None:
    skill, problems = read("---\nname: plan-beds\n---\n", "plan-beds")
    assert skill.description == "plan beds"
    assert {"description-unknown", "body-missing"} <= codes(problems)


def test_when_to_use_is_part_of_the_description() -> None:
    text = "---\nname: a\ndescription: Plans beds.\nwhen_to_use: In spring.\n---\nDig."
    assert read(text)[0].description == "Plans beds. In spring."


def test_duplicate_key_first_counts_and_is_named_with_its_line() -> None:
    for spoiler in ("", "x: [\n"):
        text = f"---\nname: a\ndescription: First.\ndescription: Second.\n{spoiler}---\nDig."
        skill, problems = read(text, "a")
        assert skill.description == "First."
        (duplicate,) = [problem for problem in problems if problem.code == "duplicate-key"]
        assert duplicate.line == 4


def test_second_frontmatter_fills_in() -> None:
    text = (
        "---\nname: plan-beds\ndescription: | Use when needed.\n---\n"
        "---\nname: other\ndescription: Plans beds.\nversion: 2\n---\nDig."
    )
    skill, problems = read(text, "plan-beds")
    assert (skill.name, skill.description, skill.version) == ("plan-beds", "Plans beds.", "2")
    assert skill.body == "Dig."
    assert "frontmatter-twice" in codes(problems)


def test_problem_prints_file_line_what_and_remedy() -> None:
    _, problems = read("---\nname: a\ndescription: b: c: d\n---\nDig.", "a")
    (problem,) = problems
    assert str(problem).startswith("a/SKILL.md:3: the frontmatter is not valid YAML (")
    assert "; put quotes around the value" in str(problem)


def test_values_stay_texts() -> None:
    text = "---\nname: no\ndescription: 2024-99-99\nversion: 1.20\n---\nDig."
    skill, _ = read(text, "no")
    assert (skill.name, skill.description, skill.version) == ("no", "2024-99-99", "1.20")


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        ("requires: terminal", ("terminal",)),
        ("requires: terminal, browser", ("terminal", "browser")),
        ("requires:\n  - terminal\n  - terminal", ("terminal",)),
        ("metadata:\n  hermes:\n    requires_tools: [web_search]", ("web_search",)),
        ("requires:\n  bins: [git]", ()),
        ("allowed-tools: Bash, Read", ()),
    ],
)
@pytest.mark.parametrize("spoiler", ["", "x: [\n"])
def test_required_tools(requires: str, expected: tuple[str, ...], spoiler: str) -> None:
    text = f"---\nname: a\ndescription: Plans beds.\n{requires}\n{spoiler}---\nDig."
    assert read(text)[0].requires == expected


def test_category_at_any_usual_place() -> None:
    for lines in (
        "category: garden",
        "metadata:\n  category: garden",
        "metadata:\n  hermes:\n    category: garden",
    ):
        assert read(f"---\nname: a\ndescription: b c\n{lines}\n---\nD")[0].category == "garden"


def test_alias_bomb_is_refused_in_no_time() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(20)
    )
    start = time.perf_counter()
    skill, problems = read(f"---\nname: boom\n{bomb}description: Plans beds.\n---\nDig.", "boom")
    assert time.perf_counter() - start < 1
    assert (skill.name, skill.description) == ("boom", "Plans beds.")
    assert "yaml-alias" in codes(problems)


@pytest.mark.parametrize(
    "filler",
    [
        "x: " + "[" * 200_000,
        "x: " + "{a: " * 100_000,
        "x:\n" + "\n".join(" " * i + "- " * 3 for i in range(300)),
        "\n".join(" " * i + f"k{i}:" for i in range(1_000)),
        "x: [" + "a, " * 100_000 + "]",
        "\n".join(f"k{i}: v" for i in range(50_000)),
        "x: " + '"' * 200_000,
        ": " * 200_000,
        "-" * 200_000,
        "<!--" * 50_000,
        "? " * 100_000,
    ],
)
def test_hostile_shapes_are_survived_quickly(filler: str) -> None:
    start = time.perf_counter()
    skill, _ = read(f"---\nname: plan-beds\ndescription: Plans beds.\n{filler}\n---\nDig.")
    assert skill.name == "plan-beds"
    read(filler + "\n---\n" + filler)
    assert time.perf_counter() - start < 5


@given(st.binary(max_size=2000))
@example(b"---\nname: a\ndescription: \xff\n---\n")
@example(b"---\n\x00: \x00\n---\n")
@example(b"\xff\xfe-\x00-\x00-\x00")
@example(b"---\n- \n---")
@example(b"---\n? [a]\n: b\n---")
def test_any_bytes_give_a_skill_or_a_named_error(data: bytes) -> None:
    skill, problems = skill_from_bytes(data, "x/SKILL.md", "x")
    if skill is None:
        assert any(problem.is_error for problem in problems)
    else:
        assert is_safe_name(skill.name)
        assert skill.description.strip()
    for problem in problems:
        assert "\n" not in str(problem)
        assert problem.message and problem.remedy


PIECES = st.sampled_from(
    [
        *(
            "---\n",
            "---",
            "name: ",
            "description: ",
            "metadata:\n",
            "  category: x\n",
            "\n",
            "\r\n",
        ),
        *(
            ": ",
            "- ",
            "> ",
            "|\n",
            ">-\n",
            "  ",
            "\t",
            '"',
            "'",
            "[",
            "]",
            "{",
            "}",
            "#",
            " #",
            "&a ",
        ),
        *(
            "*a",
            "!!python/object ",
            "%YAML 1.1\n",
            "water",
            "Plan the beds",
            "é—",
            "\ufeff",
            "\x00",
        ),
        *(
            "# Title\n",
            "```\n",
            "<!--",
            "-->",
            "~",
            "null",
            "\u2028",
            "\u202e",
            "...\n",
            "? ",
            "<<: ",
        ),
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_frontmatter_made_of_real_pieces_is_survived(text: str) -> None:
    skill, problems = skill_from_bytes(text.encode(), "x/SKILL.md", "plan-beds")
    if skill is None:
        assert any(problem.is_error for problem in problems)
    else:
        assert is_safe_name(skill.name)
        assert skill.description.strip()
        assert "\x00" not in skill.description + skill.body


GOOD = (
    "---\nname: plan-beds\ndescription: 'Plans beds: order, spacing and water.'\n"
    "metadata:\n  category: garden\n---\n# Beds\n\nDig.\n"
)


@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text(max_size=6))
def test_damaged_frontmatter_still_gives_a_usable_skill(at: int, cut: int, put: str) -> None:
    text = GOOD[:at] + put + GOOD[at + cut :]
    skill, _ = skill_from_bytes(text.encode("utf-8", "replace"), "x/SKILL.md", "plan-beds")
    assert skill is not None
    assert is_safe_name(skill.name)
    assert skill.description.strip()


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp", "Cs", "Cf")),
        min_size=1,
        max_size=80,
    )
)
def test_line_numbers_stay_inside_the_file(description: str) -> None:
    text = f"---\nname: a\ndescription: {description}\n---\nDig.\n"
    front = parse_frontmatter(text)
    assert all(1 <= note.line <= text.count("\n") + 1 for note in front.notes)
