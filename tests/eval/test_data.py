"""Labelled turns: what is read, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.data import RequestsError, load_turns, requests_digest


def write(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "turns.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_json_lines_and_an_array_are_the_same(tmp_path: Path) -> None:
    lines = '{"text": "a", "gold": "x"}\n\n{"text": "b", "gold": null, "kind": "meta"}\n'
    array = '[{"text": "a", "gold": "x"}, {"text": "b", "gold": null, "kind": "meta"}]'
    first = load_turns(write(tmp_path, lines))
    second = load_turns(write(tmp_path, "\ufeff" + array))
    assert first == second and requests_digest(first) == requests_digest(second)
    assert [turn.group for turn in first] == ["covered", "meta"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["holds no requests"]),
        ("\n\n", ["holds no requests"]),
        ('{"text": "a", "gold": null}\n{"text": "a"', [":2", "not JSON"]),
        ('{"text": "a"}', [":1", "gold", "missing"]),
        ('{"gold": null}', [":1", "text"]),
        ('{"text": "  ", "gold": null}', [":1", "blank"]),
        ('{"text": 3, "gold": null}', [":1", "text"]),
        ('["a"]', [":1: record 1", "not an object"]),
        (
            '\n[{"text": "a",\n"gold": null}\n,\n\n {"text": "a", "gold": null}]',
            [":6: record 2: text", "stands at", ":2: record 1"],
        ),
        ('[\n{"text": "a", "gold": null},\n{"text": "b", "gold": "u"}\n]', [":3: record 2: gold"]),
        ('{"text": "a", "gold": null}\n{"text": "a", "gold": "x"}', [":2", ":1", "same request"]),
        ('{"text": "a", "gold": "unknown"}', [":1", "gold", "unknown"]),
        (b"\xff\xfe", ["UTF-8"]),
        ("[" * 100_000, ["not JSON"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    path = write(tmp_path, content)
    with pytest.raises(RequestsError) as raised:
        load_turns(path, names=["x"])
    assert all(word in str(raised.value) for word in [str(path), *words]), str(raised.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RequestsError, match="cannot be read"):
        load_turns(tmp_path / "no.jsonl")


def test_the_same_text_in_another_context_is_another_turn(tmp_path: Path) -> None:
    content = '{"text": "a", "gold": null}\n{"text": "a", "gold": null, "recent_context": ["b"]}'
    assert len(load_turns(write(tmp_path, content))) == 2


@given(st.binary(max_size=200))
def test_any_bytes_give_turns_or_a_named_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = write(tmp_path_factory.mktemp("turns"), content)
    try:
        assert load_turns(path)
    except RequestsError as error:
        assert str(path) in str(error)
