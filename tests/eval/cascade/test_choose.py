"""Choosing the band, and what a summary says of a cascade."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from eval.bench import Answer, run_bench
from eval.cascade.choose import Scored, choose_band
from eval.cascade.scripted import ScriptedJudge
from eval.cascade.summary import cascade_line, summarize_cascade, summarize_usage
from eval.data import LabelledTurn
from router import Router
from router.cascade import Band, Cascade
from router.cli import main
from router.judges import JudgeSetup
from tests.router.fakes import ScriptedJudge as Authored
from tests.router.judges.apis import ANSWERS, ROSTER
from tests.router.judges.loopback import Answer as Response
from tests.router.judges.loopback import loopback

TURNS = [
    LabelledTurn(text="Fill in the form.", gold="pdf-fill"),
    LabelledTurn(text="Send the letter.", gold="mail-send"),
    LabelledTurn(text="Release it.", gold="deploy-app"),
    LabelledTurn(text="What is a monad?", gold=None),
]


def scored(scores: list[float], wrong: list[bool], groups: list[str] | None = None) -> Scored:
    return Scored(np.array(scores), np.array(wrong), np.array(groups or ["one"] * len(scores)))


def test_the_band_lies_where_the_mistakes_are() -> None:
    scores = [i / 100 for i in range(100)]
    chosen = choose_band(scored(scores, [40 <= i < 55 for i in range(100)]), 0.2)
    assert chosen.removed == 1.0
    assert chosen.share <= 0.2
    assert 0.35 < chosen.band.low <= 0.40
    assert 0.54 < chosen.band.high < 0.60


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from("ab")), min_size=1),
    st.floats(0, 1),
)
def test_a_band_keeps_its_bound_and_counts_what_it_holds(
    rows: list[tuple[float, bool, str]], most: float
) -> None:
    data = scored([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
    chosen = choose_band(data, most)
    assert 0 <= chosen.band.low <= chosen.band.high <= 1
    assert chosen.share <= most + 1e-9
    assert 0 <= chosen.removed <= 1


def test_every_roster_counts_alike() -> None:
    # A large roster with its mistakes at 0.2, a small one with its mistakes at 0.8.
    scores = [0.2, 0.5] * 100 + [0.8, 0.5] * 2
    wrong = [True, False] * 100 + [True, False] * 2
    groups = ["large"] * 200 + ["small"] * 4
    chosen = choose_band(scored(scores, wrong, groups), 0.25)
    assert chosen.removed == pytest.approx(0.5)
    assert chosen.share == pytest.approx(0.25)


def cascading(band: Band) -> Router:
    fits = {"pdf-fill": 0.5, "mail-send": 0.1, "deploy-app": 0.1}
    choice = {"pdf-fill": 0.8, "mail-send": 0.1, "deploy-app": 0.1}
    second = Router(ROSTER, ScriptedJudge(TURNS))
    local = Authored(list(ROSTER.names), fits, choice=choice)
    return Router(ROSTER, local, cascade=Cascade(second, band, per_minute=100))


def test_a_perfect_second_judge_mends_every_mistake_it_is_asked_about() -> None:
    answers = run_bench(cascading(Band(low=0.0, high=1.0)), TURNS)
    assert [answer.verdict for answer in answers] == ["right", "right", "right", "quiet"]
    numbers = summarize_cascade(answers)["cascade"]
    assert numbers["escalated"] == 4
    assert numbers["local_mistakes"] == 3
    assert numbers["fixed"] == 3
    assert numbers["broken"] == 0
    assert numbers["net_per_escalated"] == 0.75
    assert numbers["calls"] == 7, "two a covered turn, one where the gate ends it"
    assert numbers["mistakes_removed"]["value"] == 1.0
    assert "3 of 3 local mistakes fixed" in cascade_line(numbers)
    assert summarize_usage(answers)["usage"]["rank"]["calls"] == 4


def test_a_band_that_holds_nothing_changes_nothing() -> None:
    answers = run_bench(cascading(Band(low=0.0, high=0.0)), TURNS)
    numbers = summarize_cascade(answers)["cascade"]
    assert (numbers["escalated"], numbers["fixed"], numbers["calls"]) == (0, 0, 0)
    assert summarize_usage(answers) == {}


def test_a_local_bench_has_no_cascade_entry() -> None:
    answers: list[Answer] = run_bench(Router(ROSTER, Authored(list(ROSTER.names), {})), TURNS)
    assert summarize_cascade(answers) == {}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    roster = tmp_path / "roster.jsonl"
    roster.write_text(
        "".join(
            json.dumps({"name": s.name, "description": s.description, "body": s.body}) + "\n"
            for s in ROSTER
        )
    )
    turns = tmp_path / "requests.jsonl"
    turns.write_text("".join(json.dumps({"text": t.text, "gold": t.gold}) + "\n" for t in TURNS))
    return str(roster), str(turns)


def bench(files: tuple[str, str], *options: str) -> dict[str, object]:
    roster, turns = files
    arguments = ["bench", "--roster", roster, "--requests", turns, "--json", *options]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("judge", ["claude", "systemone"])
def test_bench_with_a_model(
    judge: str, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("TYPESAFE_API_KEY", "k")
    with loopback(lambda data, _: Response(ANSWERS[judge](data, "mail-send"))) as server:
        summary = bench(files, "--judge", judge, "--judge-url", server.url)
    assert (summary["right"], summary["wrong"], summary["needless"]) == (1, 2, 1)
    usage = summary["usage"]
    assert isinstance(usage, dict) and usage["rank"]["calls"] == 4


def test_bench_with_the_local_judge(files: tuple[str, str]) -> None:
    assert "usage" not in bench(files, "--judge", "local")


def test_bench_with_a_cascade(files: tuple[str, str], tmp_path: Path) -> None:
    band = tmp_path / "band.json"
    band.write_text('{"low": 0.0, "high": 1.0}')
    options = ("--judge", "cascade", "--second", "scripted", "--band", str(band))
    summary = bench(files, *options)
    cascade = summary["cascade"]
    assert isinstance(cascade, dict)
    assert cascade["escalated"] == 4
    assert (summary["right"], summary["needless"]) == (3, 0)


def test_bench_with_a_cascade_to_a_model(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TYPESAFE_API_KEY", "k")
    band = tmp_path / "band.json"
    band.write_text('{"low": 0.0, "high": 1.0}')
    with loopback(lambda data, _: Response(ANSWERS["systemone"](data, "mail-send"))) as server:
        options = ["--judge", "cascade", "--second", "systemone", "--judge-url", server.url]
        summary = bench(files, *options, "--band", str(band), "--judge-per-minute", "2")
    cascade = summary["cascade"]
    assert isinstance(cascade, dict)
    # The warm-up request is the first of the two.
    assert cascade["outcomes"]["over_budget"] >= 2


def test_suggest_with_a_second_judge_that_only_bench_has() -> None:
    result = CliRunner().invoke(
        main, ["suggest", "hi", "--judge", "cascade", "--second", "scripted"]
    )
    assert result.exit_code == 2
    assert "claude or systemone" in result.output


def test_tune_band_writes_a_band_that_loads(files: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "band.json"
    folder = str(Path(files[0]).parent)
    arguments = ["tune-band", "--data", folder, "--no-bundled", "--out", str(out)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    band = Band.load(out)
    assert band.low <= band.high
    assert band.learned_on["rosters"][0]["group"] == Path(folder).name


def test_a_setup_hides_its_key() -> None:
    assert "hush" not in repr(JudgeSetup(api_key=SecretStr("hush")))
