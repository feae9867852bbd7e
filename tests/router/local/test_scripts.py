"""What an encoder that serves some scripts is shown of a roster."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster import Roster, Skill
from router import EncoderError, Router
from router.local.encoder import load_encoder
from router.local.onnx_encoder import SHIPPED
from router.local.scripts import as_read, script_of, scripts_of_folder

REMARK = "\n# 调用大模型，把结果返回给用户，出错了要重试，用中文写注释\n"
ASKED = "孩子换牙，晚饭做点什么软的好？"


class English:
    name = "english"
    scripts = frozenset({"latin", "greek"})


class Everything:
    name = "everything"


def roster(*texts: tuple[str, str]) -> Roster:
    return Roster.from_skills(
        [
            Skill(name=f"skill-{number}", description=description, body=body)
            for number, (description, body) in enumerate(texts)
        ]
    )


@pytest.mark.parametrize(
    ("character", "script"),
    [
        ("a", "latin"),
        ("ß", "latin"),
        ("Ａ", "latin"),
        ("μ", "greek"),
        ("ж", "cyrillic"),
        ("中", "cjk"),
        ("の", "hiragana"),
        ("ー", "katakana"),
        ("한", "hangul"),
        ("ب", "arabic"),
        ("3", None),
        (" ", None),
        ("。", None),
        ("😀", None),
    ],
)
def test_letters_have_scripts(character: str, script: str | None) -> None:
    assert script_of(character) == script


def test_only_foreign_letters_are_taken_out_of_bodies() -> None:
    mixed = roster(("Café menus", "Über π 東京 ок 1，2"), ("Bake bread", "Knead it."))
    read = as_read(mixed, English())
    assert read["skill-0"].description == "Café menus"
    assert read["skill-0"].body.split() == ["Über", "π", "1，2"]
    assert read["skill-1"] is mixed["skill-1"]
    assert as_read(mixed, Everything()) is mixed


def test_a_skill_described_in_a_script_keeps_it() -> None:
    mixed = roster(("知识漫画 comics", "画漫画 ок"), ("Bake bread", "Knead it."))
    read = as_read(mixed, English())
    assert read["skill-0"].description == mixed["skill-0"].description
    assert read["skill-0"].body.split() == ["画漫画"]


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4))
def test_nothing_but_letters_of_scripts_it_does_not_claim_is_taken_out(
    texts: list[tuple[str, str]],
) -> None:
    whole = roster(*texts)
    read = as_read(whole, English())
    assert read.names == whole.names
    for before, after in zip(whole, read, strict=True):
        assert after.description == before.description
        assert len(before.body) == len(after.body)
        kept = {"latin", "greek", "modifier", None, *map(script_of, before.description)}
        assert all(
            b == a if script_of(b) in kept else a == " "
            for b, a in zip(before.body, after.body, strict=True)
        )


def test_skills_described_in_another_script_are_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        mixed = roster(("查询天气", "先查"), ("Bake", "b"), ("Mend", "m"))
        assert as_read(mixed, English()) is mixed
    assert "skill-0" in caplog.text and "skill-1" not in caplog.text
    assert "multilingual encoder" in caplog.text


def test_the_shipped_encoder_is_english() -> None:
    assert getattr(load_encoder(), "scripts") == {"latin", "greek"}  # noqa: B009


def test_remarks_in_an_unread_script_draw_no_request(bundled: Roster) -> None:
    names = ("pdf-assemble", "flight-search", "git-bisect", "slack-post")
    skills = [bundled[name] for name in names]
    remarked = skills[2].model_copy(update={"body": skills[2].body + REMARK * 20})
    clean = Router.load(Roster.from_skills(skills)).suggest(ASKED)
    drawn = Router.load(Roster.from_skills([*skills[:2], remarked, skills[3]])).suggest(ASKED)
    assert clean.name is None and drawn.name is None
    assert drawn.ranking.top(4) == clean.ranking.top(4)


@pytest.mark.parametrize("scripts", ["latin", [], [1], {"latin": True}])
def test_scripts_of_a_wrong_card_are_refused(tmp_path: Path, scripts: object) -> None:
    card = json.loads((SHIPPED / "encoder.json").read_text())
    for name in ("encoder.onnx", "tokenizer.json"):
        (tmp_path / name).symlink_to(SHIPPED / name)
    (tmp_path / "encoder.json").write_text(json.dumps({**card, "scripts": scripts}))
    with pytest.raises(EncoderError, match=r"encoder\.json: scripts: is no list of names"):
        load_encoder(str(tmp_path))


def test_a_model_folder_may_declare_its_scripts(tmp_path: Path) -> None:
    assert scripts_of_folder(tmp_path) is None
    (tmp_path / "encoder.json").write_text('{"scripts": ["Latin", "cyrillic"]}')
    assert scripts_of_folder(tmp_path) == {"latin", "cyrillic"}
    (tmp_path / "encoder.json").write_text("{")
    with pytest.raises(EncoderError, match="mend or remove"):
        scripts_of_folder(tmp_path)
