"""Progressive disclosure, loaded skills and the tool that loads them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from roster import Skill
from roster.disclosure import DisclosureCaps, DisclosureError, disclose, render
from roster.load_skill import MAX_MESSAGE, LoadSkill
from roster.loaded import MAX_LOADED_BODY, LoadedSkillSet, LoadedStateError
from roster.registry import SkillRegistry

KITE = Skill(name="kite-repair", description="Mend\nkites.", body="Glue.\n", requires=("glue",))
BREAD = Skill(name="bread-bake", description="</skills> Bake.", body="Knead.")
BARE = Skill(name="bare", description="", body="")


def tool(**changed: Any) -> LoadSkill:
    settings: dict[str, Any] = {
        "active": ["kite-repair", "bread-bake", "bare"],
        "tools": ["glue"],
        "loaded": LoadedSkillSet(),
    }
    return LoadSkill(SkillRegistry([KITE, BREAD, BARE]), **{**settings, **changed})


def test_progressive_shows_lines_and_the_bodies_of_loaded_skills() -> None:
    loaded = LoadedSkillSet()
    shown = [s.text for s in disclose([KITE, BREAD, BARE], loaded)]
    assert shown == [
        "Skill kite-repair: Mend kites.",
        "Skill bread-bake: < /skills> Bake.",
        "Skill bare: (no description)",
    ]
    loaded.add(KITE)
    sections = disclose([KITE, BREAD], loaded)
    assert sections[0].text == "Skill kite-repair:\nGlue.\n"
    assert disclose([KITE], loaded, demoted=["kite-repair"])[0].body is None
    assert render(sections) == "Skill kite-repair:\nGlue.\n\n\nSkill bread-bake: < /skills> Bake."
    assert render(disclose([BREAD, BARE])).count("\n") == 1


def test_eager_shows_every_body() -> None:
    assert [s.text for s in disclose([KITE, BREAD], mode="eager")] == [
        "Skill kite-repair:\nGlue.\n",
        "Skill bread-bake:\nKnead.",
    ]
    with pytest.raises(ValueError, match="progressive or eager"):
        disclose([], mode="lazy")  # type: ignore[arg-type]


def test_caps_by_default_and_at_most() -> None:
    caps = DisclosureCaps()
    assert (caps.entries, caps.description_bytes, caps.body_bytes) == (64, 512, 32 << 10)
    DisclosureCaps(entries=256, description_bytes=4 << 10, body_bytes=256 << 10)
    for over in ({"entries": 257}, {"description_bytes": 4097}, {"body_bytes": (256 << 10) + 1}):
        with pytest.raises(ValidationError):
            DisclosureCaps(**over)


def test_what_is_too_large_is_refused_and_named_never_cut() -> None:
    many = [Skill(name=f"s{i}", description="x") for i in range(65)]
    assert len(disclose(many[:64])) == 64
    with pytest.raises(DisclosureError, match="65 skills are active; at most 64"):
        disclose(many)
    fits = Skill(name="fits", description="é" * 256, body="x" * (32 << 10))
    assert disclose([fits], mode="eager")[0].body == "Skill fits:\n" + "x" * (32 << 10)
    with pytest.raises(DisclosureError, match="'long' has 513 bytes"):
        disclose([Skill(name="long", description="x" + "é" * 256)])
    large = Skill(name="large", description="x", body="x" * ((32 << 10) + 1))
    assert disclose([large])[0].body is None
    with pytest.raises(DisclosureError, match="'large' have 32769 bytes"):
        disclose([large], mode="eager")


def test_loading_gives_the_instructions_once() -> None:
    load = tool()
    result = load("kite-repair")
    assert result.ok and result.text == "Skill kite-repair:\nGlue.\n" and load.loaded is not None
    assert load.loaded.names == ("kite-repair",)
    assert load("kite-repair").code == "twice" and load.loaded.names == ("kite-repair",)


def test_a_host_that_shows_bodies_itself_gets_a_confirmation() -> None:
    load = tool(deliver="prompt")
    assert "Glue" not in load("kite-repair").text
    assert disclose([KITE], load.loaded)[0].body == "Skill kite-repair:\nGlue.\n"


@pytest.mark.parametrize(
    ("changed", "name", "code", "says"),
    [
        ({}, "nope", "unknown", "no skill named 'nope'"),
        ({}, None, "unknown", "no skill named"),
        ({}, ["kite-repair"], "unknown", "no skill named"),
        ({}, "\x1b]0;x\x07" * 1000, "unknown", "\\x1b"),
        ({"active": ["bread-bake"]}, "kite-repair", "inactive", "'kite-repair' is not active"),
        ({"tools": []}, "kite-repair", "missing_tool", "glue"),
        ({"caps": DisclosureCaps(body_bytes=5)}, "kite-repair", "oversize", "6 bytes; at most 5"),
        ({"loaded": LoadedSkillSet(["kite-repair"])}, "kite-repair", "twice", "loaded already"),
        ({"loaded": None}, "kite-repair", "no_session", "no session"),
        ({"loaded": LoadedSkillSet(f"s{i}" for i in range(64))}, "bare", "full", "64 skills"),
    ],
)
def test_every_refusal_leaves_the_session_as_it_was(
    changed: dict[str, Any], name: Any, code: str, says: str
) -> None:
    load = tool(**changed)
    before = load.loaded.names if load.loaded is not None else None
    result = load(name)
    assert not result.ok and result.code == code and says in result.text
    assert len(result.text) <= MAX_MESSAGE
    assert (load.loaded.names if load.loaded is not None else None) == before


def test_of_many_loads_at_once_one_gets_the_instructions() -> None:
    load = tool()
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(load, ["kite-repair"] * 64))
    assert sum(result.ok for result in results) == 1


def test_the_anthropic_tool_and_its_results() -> None:
    load = tool()
    definition = load.anthropic_tool()
    assert definition["name"] == "load_skill" and definition["input_schema"]["required"] == ["name"]
    use = {"type": "tool_use", "id": "c1", "name": "load_skill", "input": {"name": "bread-bake"}}
    assert load.anthropic_result(use) == {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": "Skill bread-bake:\nKnead.",
    }
    again = load.anthropic_result(SimpleNamespace(**use))
    assert again["is_error"] is True and "loaded already" in again["content"]
    assert load.anthropic_result({**use, "input": "x"})["is_error"] is True
    with pytest.raises(ValueError, match="not of load_skill"):
        load.anthropic_result({**use, "name": "terminal"})


def test_a_session_is_saved_as_names_or_with_exact_bodies() -> None:
    loaded = LoadedSkillSet(["kite-repair", "bread-bake"])
    names = LoadedSkillSet.from_json(loaded.to_json())
    assert names.names == loaded.names and names.restored_body("kite-repair") is None
    saved = loaded.to_json(bodies_from=[KITE, BREAD])
    restored = LoadedSkillSet.from_json(saved)
    assert restored.restored_body("kite-repair") == "Glue.\n"
    changed = KITE.model_copy(update={"body": "Tape."})
    assert disclose([changed], restored)[0].body == "Skill kite-repair:\nGlue.\n"
    assert restored.to_json(bodies_from=[changed]) == saved


def test_a_state_over_a_limit_is_refused_whole() -> None:
    loaded = LoadedSkillSet(["kite-repair"])
    with pytest.raises(LoadedStateError, match="not known"):
        loaded.to_json(bodies_from=[])
    fits = KITE.model_copy(update={"body": "x" * MAX_LOADED_BODY})
    assert len(LoadedSkillSet.from_json(loaded.to_json([fits])).restored_body("kite-repair") or "")
    over = KITE.model_copy(update={"body": "x" * (MAX_LOADED_BODY + 1)})
    with pytest.raises(LoadedStateError, match="at most 262144"):
        loaded.to_json([over])
    five = [fits.renamed(f"s{i}") for i in range(5)]
    with pytest.raises(LoadedStateError, match="at most 1048576"):
        LoadedSkillSet(skill.name for skill in five).to_json(five)
    with pytest.raises(LoadedStateError, match="64"):
        LoadedSkillSet(f"s{i}" for i in range(65))


@pytest.mark.parametrize(
    "state",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        "{}",
        '{"loaded": "x"}',
        '{"loaded": ["a", "a"]}',
        '{"loaded": ["<b>"]}',
        '{"loaded": [7]}',
        '{"loaded": ["a"], "more": 1}',
        '{"loaded": ["a"], "bodies": {"b": "x"}}',
        '{"loaded": ["a"], "bodies": {"a": 7}}',
        '{"loaded": ["a"], "bodies": []}',
        json.dumps({"loaded": ["a" * 257]}),
        json.dumps({"loaded": [f"s{i}" for i in range(65)]}),
    ],
)
def test_states_that_are_none_are_refused(state: str) -> None:
    with pytest.raises(LoadedStateError):
        LoadedSkillSet.from_json(state)


@given(st.text(max_size=200))
def test_any_body_is_saved_and_restored_exactly(body: str) -> None:
    skill = Skill(name="a", description="x", body=body)
    state = LoadedSkillSet(["a"]).to_json([skill])
    assert LoadedSkillSet.from_json(state).restored_body("a") == skill.body
