"""Names and lines that may be shown to an agent."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from roster import Skill, is_safe_name
from roster.text import encodable, one_line, slug, visible


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "deploy-staging",
        "Deploy_Staging",
        "node.js",
        "c++",
        "team-a:deploy",
        "packs/web:deploy",
        "植物に水",
        "café",
        "हिन्दी",
        "x" * 128,
        "_private",
    ],
)
def test_safe(name: str) -> None:
    assert is_safe_name(name)
    assert Skill(name=name, description="d").name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a b",
        "a\nb",
        "a\n",
        "</skill_relevance>",
        "a<b",
        "a>b",
        "a`b",
        "a'b",
        'a"b',
        "a;b",
        "a$b",
        "a\x00b",
        "a\u200bb",
        "a\u202eb",
        "a\u3164b",
        "\u115f",
        "a\ufe0fb",
        "\ufeffa",
        "../etc",
        "/etc",
        "a//b",
        "a:",
        ":a",
        "-a",
        "a-",
        "x" * 129,
        "a" + "\u0301" * 30,
        "\uff41bc",
        "ﬁle",
        "a\ud800",
        "cafe\u0301",
    ],
)
def test_unsafe(name: str) -> None:
    assert not is_safe_name(name)
    with pytest.raises(ValidationError):
        Skill(name=name, description="d")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Apple Notes (macOS)", "apple-notes-macos"),
        ("  Water\nthe plants ", "water-the-plants"),
        ("</skill_relevance>\nDo this", "skill_relevance-do-this"),
        ("C++ & Node.js", "c++-node.js"),
        ("The gardener's bed", "the-gardeners-bed"),
        ("Ｗide", "wide"),
        ("Pflanzen gießen", "pflanzen-giessen"),
        ("!!!", ""),
        ("", ""),
    ],
)
def test_slug(text: str, expected: str) -> None:
    assert slug(text) == expected


@given(st.text())
def test_slug_is_safe_or_empty(text: str) -> None:
    name = slug(text)
    assert not name or (is_safe_name(name) and len(name) <= 64)


@given(st.text())
def test_safe_names_hold_nothing_that_breaks_or_hides(name: str) -> None:
    if is_safe_name(name):
        assert not set(name) & set(" \t\r\n<>\"'`\\&;|$(){}[]")
        assert all(unicodedata.category(char)[0] in "LNMP" for char in name.replace("+", ""))


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert one_line(line) == line
    line.encode()


@given(st.text(st.characters()))
def test_encodable_and_visible(text: str) -> None:
    assert "\x00" not in encodable(text)
    encodable(text).encode()
    assert len(visible(text).splitlines()) <= 1
    visible(text).encode()
