"""Mining: what is taken from a skill's text, and what is kept out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from eval.train.errors import TrainError
from eval.train.pairs import MOST_SKILLS_A_REQUEST, mine_pairs, read_pairs, write_pairs
from eval.train.phrases import MOST, find_phrases
from roster import Roster
from router.cli import main
from tests.eval.train.conftest import DEEDS, TOPICS, skill_text


def test_each_kind_of_phrase_is_found() -> None:
    body = (
        "# X\n\n## When to use this\n- User wants to **rename** ten files\n\n## Steps\n- Not this\n"
        'For example "please rename all of my photos".\n'
    )
    description = "Renames many files at once. Trigger when users ask to tidy a folder of photos."
    found = {p.kind: p.text for p in find_phrases(description, body)}
    assert found["bullet"] == "rename ten files"
    assert found["example"] == "please rename all of my photos"
    assert "tidy a folder of photos" in found["when"]
    assert found["first"] == "Renames many files at once"
    assert not any("Not this" in text for text in found.values())


PIECES = st.sampled_from(
    ["use when ", "the user asks to ", '"', "“", "”", "'", "\n", "\n# Use cases\n", "- ", "1. ",
     "example ", "sort my files ", ". ", ", or ", "*", "é", "日本語 ", "\\", "(", "[a-"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join), st.lists(PIECES, max_size=60).map("".join))
def test_phrases_of_any_text_are_few_distinct_and_not_blank(description: str, body: str) -> None:
    texts = [p.text for p in find_phrases(" ".join(description.split()), body)]
    assert len(texts) <= MOST
    assert len({text.lower() for text in texts}) == len(texts)
    assert all(text.strip() for text in texts)


def test_all_skills_are_mined_and_none_keeps_its_request(archive: Path) -> None:
    mined = mine_pairs(archive)
    assert len(mined.skills) == len(DEEDS) * len(TOPICS)
    assert {"bullet", "quote", "when"} <= set(mined.kinds)
    for paired in mined.skills:
        for request, _ in paired.requests:
            left = paired.without(request)
            assert request.lower() not in f"{left.description}\n{left.body}".lower()


def test_skills_of_one_name_are_all_kept_under_that_name(tmp_path: Path) -> None:
    for owner in ("ann", "bob"):
        (tmp_path / owner / "mend-kite").mkdir(parents=True)
        topic = "kite" if owner == "ann" else "boat"
        text = skill_text("mend", topic).replace("mend-boat", "mend-kite")
        (tmp_path / owner / "mend-kite" / "SKILL.md").write_text(text)
    assert [one.name for one in mine_pairs(tmp_path).skills] == ["mend-kite", "mend-kite"]


def test_requests_of_too_many_skills_say_nothing(tmp_path: Path) -> None:
    for number, topic in enumerate(TOPICS[: MOST_SKILLS_A_REQUEST + 1]):
        (tmp_path / str(number)).mkdir()
        text = skill_text("mend", topic) + '\nExample: "do the usual thing for me"\n'
        (tmp_path / str(number) / "SKILL.md").write_text(text)
    found = [text for one in mine_pairs(tmp_path).skills for text, _ in one.requests]
    assert found and "do the usual thing for me" not in found


def test_excluded_rosters_are_kept_out_by_name_and_by_text(tmp_path: Path) -> None:
    own = " ".join(f"word{i}" for i in range(80))
    texts = {
        "mend-kite": skill_text("mend", "kite"),
        "choose-piano": skill_text("choose", "piano"),
        "mend-boat": skill_text("mend", "boat").split("\n## ")[0] + f"\n\n{own}\n",
    }
    for name, text in texts.items():
        (tmp_path / "archive" / name).mkdir(parents=True)
        (tmp_path / "archive" / name / "SKILL.md").write_text(text)
    by_name = tmp_path / "named.jsonl"
    by_name.write_text(json.dumps({"name": "mend-kite", "description": "Something else"}))
    copy = tmp_path / "copies" / "renamed"
    copy.mkdir(parents=True)
    (copy / "SKILL.md").write_text(texts["choose-piano"].replace("choose-piano", "other"))
    mined = mine_pairs(tmp_path / "archive", [by_name, copy.parent])
    assert ([one.name for one in mined.skills], mined.left_out) == (["mend-boat"], 2)
    assert len(mine_pairs(tmp_path / "archive").skills) == 3


def test_a_file_comes_back_as_it_was(archive: Path, tmp_path: Path) -> None:
    mined = mine_pairs(archive)
    digest = write_pairs(mined.skills, tmp_path / "pairs.jsonl")
    assert read_pairs(tmp_path / "pairs.jsonl") == (mined.skills, digest)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "pairs.jsonl:1"),
        ("[]", "pairs.jsonl:1"),
        ('{"name": "a", "description": "d", "body": "b", "requests": []}', "requests"),
        ('{"name": "a b\\n", "description": "d", "body": "b", "requests": [["x", "y"]]}', "safe"),
        (
            '{"name": "a", "description": "d", "body": "b", "requests": [["x", "y"]], '
            '"look_alikes": [7]}',
            "look_alikes",
        ),
        (
            '{"name": "a", "description": "d", "body": "b", "requests": [["\\ud800x", "y"]]}',
            "surrogates",
        ),
        ("[" * 100_000, "pairs.jsonl:1"),
    ],
)
def test_a_wrong_line_is_named(line: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(line)
    with pytest.raises(TrainError, match=re.escape(says)):
        read_pairs(path)


def test_the_command_writes_pairs_and_a_card(archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    excluded = tmp_path / "none.jsonl"
    excluded.write_text(json.dumps({"name": "mend-rose", "description": "Roses"}))
    result = CliRunner().invoke(
        main,
        ["train", "pairs", "--archive", str(archive), "--exclude", str(excluded),
         "--out", str(out)],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    skills, digest = read_pairs(out)
    assert told["pairs"] == digest and digest in (tmp_path / "pairs.md").read_text()
    assert told["skills"] == len(skills) and told["skills_excluded"] == 1
    assert told["requests"] == sum(len(one.requests) for one in skills)


def test_a_folder_without_requests_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["train", "pairs", "--archive", str(tmp_path)])
    assert result.exit_code == 1 and "Error: " in result.output and "Traceback" not in result.output
    assert len(Roster.from_directory(tmp_path)) == 0
