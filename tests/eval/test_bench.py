"""The router's benchmark, through the command a user types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from eval.bench import run_bench, summarize
from eval.data import LabelledTurn
from roster import Roster, Skill
from router import Router
from router.cli import main
from tests.router.fakes import ScriptedJudge

SKILLS = [
    {"name": "kite-repair", "category": "toys", "description": "Mend kites", "body": "Glue it."},
    {"name": "bread-bake", "category": "food", "description": "Bake bread", "body": "Knead it."},
]
TURNS = [
    {"text": "my kite tore, mend it", "gold": "kite-repair"},
    {"text": "bake me a loaf of bread", "gold": "bread-bake"},
    {"text": "hello there", "gold": None, "kind": "meta"},
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    roster, turns = tmp_path / "roster.json", tmp_path / "turns.jsonl"
    roster.write_text(json.dumps(SKILLS))
    turns.write_text("\n".join(map(json.dumps, TURNS)))
    return str(roster), str(turns)


def test_the_object_has_the_promised_keys(files: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    result = CliRunner().invoke(
        main,
        ["bench", "--roster", files[0], "--requests", files[1], "--json", "--out", str(out)],
    )
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["covered"], summary["uncovered"]) == (2, 1)
    assert summary["right"] + summary["wrong"] + summary["silent"] == 2
    assert summary["needless"] in (0, 1)
    for key in ("hit_at_1", "hit_at_3", "hit_at_10"):
        assert 0 <= summary[key] <= 1
    assert set(summary["latency_ms"]) == {"p50", "p95"}
    assert summary["by_kind"]["meta"]["turns"] == 1
    assert set(summary["digests"]) == {"roster", "requests", "thresholds", "weights"}
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["text"] for record in records] == [turn["text"] for turn in TURNS]
    assert set(records[0]) == {
        "text", "gold", "kind", "suggested", "reason", "gate", "ranked", "fits", "elapsed_ms",
    }  # fmt: skip
    assert set(records[0]["gate"]) == {
        "acts_on_system", "documented_procedure", "prose_suffices", "need",
    }  # fmt: skip


def test_counts_agree_with_the_lines(files: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    arguments = ["bench", "--roster", files[0], "--requests", files[1], "--json", "--out", str(out)]
    summary = json.loads(CliRunner().invoke(main, arguments).stdout)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    covered = [r for r in records if r["gold"]]
    assert summary["right"] == sum(r["suggested"] == r["gold"] for r in covered)
    assert summary["silent"] == sum(r["suggested"] is None for r in covered)
    assert summary["hit_at_1"] == sum(r["ranked"][0][0] == r["gold"] for r in covered) / 2


def test_the_table_is_for_people(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(main, ["bench", "--roster", files[0], "--requests", files[1]])
    assert result.exit_code == 0
    assert "needless (of uncovered)" in result.stdout and "hit@1" in result.stdout


def test_languages_are_measured_apart(files: tuple[str, str], tmp_path: Path) -> None:
    turns = tmp_path / "languages.jsonl"
    records = [
        *({**turn, "lang": "en"} for turn in TURNS[:2]),
        {"text": "repara mi cometa", "gold": "kite-repair", "lang": "es"},
        {"text": "hola", "gold": None, "lang": "es"},
        {"text": "\u65e9\u554a", "gold": None, "lang": "zh"},
    ]
    turns.write_text("\n".join(map(json.dumps, records)))
    arguments = ["bench", "--roster", files[0], "--requests", str(turns)]
    summary = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    by_lang = summary["by_lang"]
    assert list(by_lang) == ["en", "es", "zh"]
    counts = [(row["turns"], row["covered"], row["uncovered"]) for row in by_lang.values()]
    assert counts == [(2, 2, 0), (2, 1, 1), (1, 0, 1)]
    for verdict in ("right", "wrong", "silent", "needless"):
        assert sum(row.get(verdict, 0) for row in by_lang.values()) == summary[verdict]
    hits = sum(row["hit_at_1"] * row["covered"] for row in by_lang.values()) / 3
    assert hits == pytest.approx(summary["hit_at_1"], abs=1e-3)
    printed = CliRunner().invoke(main, arguments).stdout
    lines = {line.split()[0]: line.split() for line in printed.splitlines() if line.strip()}
    assert lines["language"][1:] == [
        "covered", "uncovered", "right", "wrong", "silent", "needless", "hit@1", "hit@3",
    ]  # fmt: skip
    assert lines["zh"][1:6] == ["0", "1", "-", "-", "-"] and lines["zh"][7:] == ["-", "-"]


def test_one_language_needs_no_table(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(main, ["bench", "--roster", files[0], "--requests", files[1]])
    assert "language" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--roster", "{roster}"], ["--requests"]),
        (["--roster", "{roster}", "--requests", "/no/such"], ["/no/such", "cannot be read"]),
        (["--roster", "/no/such", "--requests", "{turns}"], ["/no/such"]),
        (["--requests", "{turns}"], ["the roster has no skill"]),
        (
            ["--roster", "{roster}", "--requests", "{turns}", "--thresholds", "/no/t.toml"],
            ["/no/t.toml"],
        ),
        (
            ["--roster", "{roster}", "--requests", "{turns}", "--out", "/no/such/dir/out"],
            ["/no/such/dir/out"],
        ),
    ],
)
def test_bad_input_is_one_line(
    files: tuple[str, str], arguments: list[str], words: list[str]
) -> None:
    filled = [a.format(roster=files[0], turns=files[1]) for a in arguments]
    result = CliRunner().invoke(main, ["bench", *filled])
    assert result.exit_code != 0
    assert isinstance(result.exception, SystemExit)
    assert all(word in result.output for word in words), result.output


def test_each_verdict_is_counted_where_it_belongs() -> None:
    roster = Roster.from_skills(
        Skill(name=name, description=name) for name in ("kite-repair", "bread-bake")
    )
    turns = [
        LabelledTurn(text="first", gold="kite-repair", kind="covered"),
        LabelledTurn(text="second", gold="bread-bake", kind="covered"),
        LabelledTurn(text="third", gold=None, kind="meta"),
    ]
    always = Router(roster, ScriptedJudge(["kite-repair", "bread-bake"], {"kite-repair": 0.9}))
    summary = summarize(always, run_bench(always, turns))
    counts = {name: summary[name] for name in ("right", "wrong", "silent", "needless")}
    assert counts == {"right": 1, "wrong": 1, "silent": 0, "needless": 1}
    assert (summary["hit_at_1"], summary["hit_at_3"]) == (0.5, 1.0)
    assert summary["by_kind"]["covered"] == {"turns": 2, "right": 1, "wrong": 1}
    never = Router(roster, ScriptedJudge(["kite-repair", "bread-bake"], {}))
    summary = summarize(never, run_bench(never, turns))
    assert (summary["silent"], summary["needless"]) == (2, 0)
