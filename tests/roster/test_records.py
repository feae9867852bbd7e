"""JSON rosters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster import DuplicateSkillError, Roster, RosterFormatError, is_safe_name
from roster.records import read_records

WATER = {"name": "water", "description": "Water the plants."}
DUST = {
    "name": "dust",
    "category": "home",
    "description": "Dust.",
    "description_full": "Dust shelves and lamps.",
    "body": "# Dust\n\nGently.",
    "requires": ["terminal"],
    "version": 2,
    "stars": 5,
}


def write(folder: Path, text: str | bytes, name: str = "roster.json") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([WATER, DUST]),
        json.dumps([WATER, DUST], indent=4),
        f"{json.dumps(WATER)}\n\n{json.dumps(DUST)}\n",
        f"\ufeff{json.dumps(WATER)}\r\n{json.dumps(DUST)}",
    ],
)
def test_array_and_lines_give_the_same_roster(tmp_path: Path, text: str) -> None:
    loaded = Roster.from_json(write(tmp_path, text))
    assert loaded.names == ("water", "dust")
    dust = loaded["dust"]
    assert dust.description == "Dust shelves and lamps."
    assert dust.index_description == "Dust."
    assert (dust.category, dust.requires, dust.version) == ("home", ("terminal",), "2")
    assert (loaded["water"].category, loaded["water"].body) == ("general", "")
    assert "- dust: Dust.\n" in loaded.prompt() + "\n"
    reference = Roster.from_json(write(tmp_path, json.dumps([WATER, DUST]), "other.json"))
    assert loaded.digest == reference.digest


def test_digest_of_a_record_depends_on_content_and_not_on_layout(tmp_path: Path) -> None:
    one = Roster.from_json(write(tmp_path, json.dumps([DUST])))
    two = Roster.from_json(write(tmp_path, json.dumps([dict(reversed(DUST.items()))], indent=1)))
    three = Roster.from_json(write(tmp_path, json.dumps([{**DUST, "stars": 6}])))
    assert one.digest == two.digest != three.digest


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (
            '[\n {"name": "a", "description": "b"},\n {"name": 3, "description": "b"}\n]',
            3,
            "'name'",
        ),
        ('[\n\n {"name": "a"}]', 3, "'description'"),
        ('{"name": "a", "description": "b", "requires": "x"}', 1, "'requires'"),
        ('{"name": "a", "description": "b", "version": true}', 1, "'version'"),
        ('{"name": "", "description": "b"}', 1, "'name'"),
        ('{"name": "!!!", "description": "b"}', 1, "'name'"),
        ('{"name": "a", "description": "b"}\n{"name": "c",', 2, "not valid JSON"),
        (
            '[{"name": "a", "description": "b"}\n{"name": "c", "description": "d"}]',
            2,
            "expected ','",
        ),
        ('[{"name": "a", "description": "b"}] x', 1, "after the closing"),
        ('[{"name": "a", "description": "b"},\n', 2, "not valid JSON"),
        ('{"name": "a",\n "name": "b"}', 1, "not valid JSON"),
        ('{"name": "a", "name": "b", "description": "c"}', 1, "occurs twice"),
        ('{"name": "a", "description": "b", "x": NaN}', 1, "NaN"),
        ("[1]", 1, "must be a JSON object, not int"),
        ("null", 1, "must be a JSON object"),
        ("[" * 100_000, 1, "nested too deep"),
        ('{"name": "a", "description": "b", "x": ' + "9" * 5000 + "}", 1, "not valid JSON"),
    ],
)
def test_bad_json_names_file_line_field_and_remedy(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    file = write(tmp_path, text)
    with pytest.raises(RosterFormatError) as caught:
        Roster.from_json(file)
    problem = caught.value.problems[0]
    assert (problem.path, problem.line) == (str(file), line)
    assert said in problem.message
    assert problem.remedy
    assert f"{file}:{line}: " in str(caught.value)


def test_every_bad_record_is_reported(tmp_path: Path) -> None:
    file = write(tmp_path, '{"name": 1}\n' * 30)
    with pytest.raises(RosterFormatError) as caught:
        Roster.from_json(file)
    assert len(caught.value.problems) == 60
    assert "50 more problems" in str(caught.value)


def test_empty_files_give_an_empty_roster(tmp_path: Path) -> None:
    for text in ("", "[]", " [ ] \n", "\n\n"):
        loaded = Roster.from_json(write(tmp_path, text))
        assert len(loaded) == 0
        assert [problem.code for problem in loaded.problems] == ["no-skills"]


def test_clashing_records(tmp_path: Path) -> None:
    twice = [{**WATER, "category": "a"}, {**WATER, "category": "b"}]
    file = write(tmp_path, json.dumps(twice, indent=1))
    with pytest.raises(DuplicateSkillError) as caught:
        Roster.from_json(file)
    assert (caught.value.first, caught.value.second) == (f"{file}:2", f"{file}:7")
    assert len(Roster.from_json(file, duplicates="first")) == 1
    assert Roster.from_json(file, duplicates="namespace").names == ("a:water", "b:water")


def test_unsafe_names_and_broken_text_are_mended(tmp_path: Path) -> None:
    text = '[{"name": "</x>\\nwater it", "description": "a\\ud800b\\u0000", "\\ud800": 1}]'
    loaded = Roster.from_json(write(tmp_path, text))
    assert loaded.names == ("x-water-it",)
    assert loaded[0].description == "a\ufffdb\ufffd"
    assert "name-unsafe" in {problem.code for problem in loaded.problems}


def test_a_linked_json_file_is_read(tmp_path: Path) -> None:
    file = write(tmp_path, json.dumps([WATER]))
    (tmp_path / "link.json").symlink_to(file)
    assert Roster.from_path(tmp_path / "link.json").names == ("water",)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
RECORDS = st.dictionaries(
    st.sampled_from(["name", "description", "description_full", "category", "body", "requires"]),
    VALUES | st.text(min_size=1, max_size=9),
)


@given(st.text(max_size=200) | st.lists(RECORDS, max_size=4).map(json.dumps))
def test_any_text_gives_skills_or_named_problems(text: str) -> None:
    try:
        skills, _ = read_records(text, "r.json")
    except RosterFormatError as error:
        assert all(problem.line and problem.is_error for problem in error.problems)
    else:
        assert all(is_safe_name(skill.name) for _, skill in skills)
