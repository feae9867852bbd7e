"""The labelled turns keep their promises: coverage, balance, no label that leaks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from eval.data import LabelledTurn, load_turns
from roster import Roster

ROOT = Path(__file__).parent.parent
TURNS = ROOT / "requests"


@pytest.fixture(scope="module")
def turns(bundled: Roster) -> list[LabelledTurn]:
    return load_turns(TURNS / "bundled.jsonl", bundled.names)


def share(turns: list[LabelledTurn], test) -> float:  # type: ignore[no-untyped-def]
    return sum(map(test, turns)) / len(turns)


def test_every_bundled_skill_is_asked_for_twice(turns: list[LabelledTurn], bundled: Roster) -> None:
    asked = Counter(turn.gold for turn in turns if turn.covered)
    assert min(asked[name] for name in bundled.names) >= 2
    assert sum(asked.values()) >= 300


def test_uncovered_turns_are_of_five_kinds(turns: list[LabelledTurn]) -> None:
    kinds = Counter(turn.kind for turn in turns if not turn.covered)
    assert set(kinds) == {"near_miss", "technical", "everyday", "meta", "how_would"}
    assert sum(kinds.values()) >= 250


@pytest.mark.parametrize("covered", [True, False])
def test_the_surface_says_nothing_about_the_label(turns: list[LabelledTurn], covered: bool) -> None:
    part = [turn for turn in turns if turn.covered is covered]
    styles = Counter(turn.style for turn in part)
    assert all(0.28 <= styles[style] / len(part) <= 0.39 for style in ("short", "medium", "long"))
    assert 0.06 <= share(part, lambda t: t.lang != "en") <= 0.11
    assert 0.22 <= share(part, lambda t: "?" in t.text) <= 0.34
    assert 0.07 <= share(part, lambda t: t.text == t.text.lower()) <= 0.16


def test_most_covered_turns_do_not_name_the_tool(turns: list[LabelledTurn]) -> None:
    assert share([turn for turn in turns if turn.covered], lambda t: bool(t.names_tool)) < 0.5


def test_some_requests_need_their_context(turns: list[LabelledTurn]) -> None:
    assert sum(bool(turn.recent_context) for turn in turns if turn.covered) >= 40


def test_every_turn_has_its_gate_answers(turns: list[LabelledTurn]) -> None:
    gate = load_turns(TURNS / "gate.jsonl", gold_required=False)
    assert len(gate) >= 300
    assert all(turn.gate_answers is not None for turn in [*turns, *gate])


def test_length_says_nothing_about_the_gate() -> None:
    gate = load_turns(TURNS / "gate.jsonl", gold_required=False)
    for question in range(3):
        for answer in (True, False):
            part = [t for t in gate if t.gate_answers and t.gate_answers[question] is answer]
            assert 0.25 <= share(part, lambda t: t.style == "short") <= 0.42


def test_community_turns_stand_beside_their_roster() -> None:
    for listing in (TURNS / "community").glob("*.roster.txt"):
        assert len(listing.read_text().split()) == 100
        assert (
            len(load_turns(listing.with_name(listing.name.replace(".roster.txt", ".jsonl")))) > 180
        )


@pytest.mark.parametrize("language", ["zh", "ja", "es", "de", "fr"])
def test_five_languages_are_alike_on_the_surface(language: str, bundled: Roster) -> None:
    learned = load_turns(TURNS / "languages-train.jsonl", bundled.names)
    for turns, covered, uncovered in (
        (load_turns(TURNS / "languages.jsonl"), 40, 20),
        (learned, 32, 16),
    ):
        halves = [
            [t for t in turns if t.lang == language and t.covered is c] for c in (True, False)
        ]
        assert [len(half) for half in halves] == [covered, uncovered]
        asking = [share(half, lambda t: "?" in t.text or "\uff1f" in t.text) for half in halves]
        assert abs(asking[0] - asking[1]) <= 0.13
        length = [sum(len(t.text) for t in half) / len(half) for half in halves]
        assert 0.8 <= length[0] / length[1] <= 1.25
        assert all(turn.gate_answers is not None for half in halves for turn in half)
    assert {turn.gold for turn in learned if turn.covered} == set(bundled.names)


def test_no_turn_stands_in_two_files() -> None:
    seen: dict[str, str] = {}
    for file in sorted(TURNS.rglob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record.get("recent_context"):
                continue
            other = seen.setdefault(record["text"], file.name)
            assert other == file.name, f"{record['text']!r} stands in {other} and {file.name}"
