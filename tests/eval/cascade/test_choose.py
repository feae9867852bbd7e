"""Choosing the band, and what a summary says of a cascade."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from eval.bench import Answer, run_bench
from eval.cascade.choose import Examples, choose_thresholds
from eval.cascade.learn import learn_band
from eval.cascade.scripted import ScriptedJudge
from eval.cascade.summary import cascade_line, summarize_cascade, summarize_usage
from eval.data import LabelledTurn, RequestsError
from router import Router
from router.cascade import Band, Cascade
from router.cascade.doubt import COLUMNS
from router.cli import main
from router.judges import JudgeSetup
from tests.router.fakes import ScriptedJudge as Authored
from tests.router.judges.apis import ANSWERS, ROSTER
from tests.router.judges.bands import ALWAYS, NEVER
from tests.router.judges.loopback import Answer as Response
from tests.router.judges.loopback import loopback

TURNS = [
    LabelledTurn(text="Fill in the form.", gold="pdf-fill"),
    LabelledTurn(text="Send the letter.", gold="mail-send"),
    LabelledTurn(text="Release it.", gold="deploy-app"),
    LabelledTurn(text="What is a monad?", gold=None),
]


def decisions(
    doubt: list[float],
    wrong: list[bool],
    speaks: list[bool] | None = None,
    groups: list[str] | None = None,
    covered: list[bool] | None = None,
) -> tuple[Examples, np.ndarray]:
    count = len(doubt)
    data = Examples(
        columns=np.zeros((count, len(COLUMNS))),
        known=np.ones(count, dtype=bool),
        speaks=np.array(speaks or [True] * count),
        wrong=np.array(wrong),
        covered=np.array(covered or [False] * count),
        group=np.array(groups or ["one"] * count),
    )
    return data, np.array(doubt)


def test_the_thresholds_lie_where_the_mistakes_begin() -> None:
    doubts = [i / 100 for i in range(100)] * 2
    speaks = [True] * 100 + [False] * 100
    wrong = [i >= 90 for i in range(100)] + [i >= 80 for i in range(100)]
    chosen = choose_thresholds(*decisions(doubts, wrong, speaks), 0.15)
    assert chosen.removed == 1.0
    assert chosen.share <= 0.15
    assert 0.88 < chosen.speaks < 0.90
    assert 0.78 < chosen.silent < 0.80


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.booleans(), st.booleans(), st.sampled_from("ab")), min_size=1
    ),
    st.floats(0, 1),
)
def test_thresholds_keep_their_bound_and_count_what_they_catch(
    rows: list[tuple[float, bool, bool, str]], most: float
) -> None:
    data, doubt = decisions(
        [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], [r[3] for r in rows]
    )
    chosen = choose_thresholds(data, doubt, most)
    assert 0 <= chosen.speaks <= 1 and 0 <= chosen.silent <= 1
    assert chosen.share <= most + 1e-9
    uncertain = doubt > np.where(data.speaks, chosen.speaks, chosen.silent)
    shares = [uncertain[data.group == name].mean() for name in np.unique(data.group)]
    assert chosen.share == pytest.approx(float(np.mean(shares)))
    assert 0 <= chosen.removed <= 1


def test_every_roster_counts_alike() -> None:
    # A large roster whose suggestions are wrong, a small one whose silences are.
    groups = ["large"] * 200 + ["small"] * 4
    speaks = [True] * 200 + [False] * 4
    doubts = [0.9, 0.1] * 102
    wrong = [True, False] * 102
    data, doubt = decisions(doubts, wrong, speaks, groups)
    chosen = choose_thresholds(data, doubt, 0.25)
    assert chosen.removed == pytest.approx(0.5)
    assert chosen.share == pytest.approx(0.25)


def test_a_covered_mistake_can_count_more() -> None:
    speaks, doubts = [True] * 10 + [False] * 10, [0.9] * 10 + [0.8] * 10
    wrong = [True] * 6 + [False] * 4 + [True] * 5 + [False] * 5
    data, doubt = decisions(doubts, wrong, speaks, covered=[not s for s in speaks])
    assert choose_thresholds(data, doubt, 0.5, covered_weight=1.0).speaks < 0.9
    weighted = choose_thresholds(data, doubt, 0.5, covered_weight=2.0)
    assert weighted.silent < 0.8 and weighted.speaks >= 0.9


def test_what_was_learned_tells_mistakes_on_rosters_it_did_not_see() -> None:
    rng = np.random.default_rng(0)
    fit = rng.uniform(0, 1, 800)
    columns = np.zeros((800, len(COLUMNS)))
    columns[:, COLUMNS.index("fit:chance")] = fit
    speaks = fit >= 0.3
    data = Examples(
        columns=columns,
        known=np.ones(800, dtype=bool),
        speaks=speaks,
        wrong=rng.uniform(0, 1, 800) < np.where(speaks, 1 - fit, fit),
        covered=rng.uniform(0, 1, 800) < fit,
        group=np.array(list("abcdefgh") * 100),
    )
    found, chosen = learn_band(data, 0.2)
    assert chosen.share <= 0.2
    assert chosen.removed > 0.3, "a blind fifth of the turns would hold a fifth of the mistakes"
    assert found.doubt.columns == COLUMNS
    assert (found.speaks, found.silent) == (chosen.speaks, chosen.silent)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"group": np.array(["a"] * 8)}, "one more roster"),
        ({"wrong": np.zeros(8, bool)}, "mistakes"),
    ],
)
def test_too_little_to_learn_from_is_said(change: dict[str, Any], fault: str) -> None:
    data, _ = decisions([0.5] * 8, [True, False] * 4, groups=list("abababab"))
    with pytest.raises(RequestsError, match=fault):
        learn_band(data._replace(**change))


def cascading(band: Band) -> Router:
    fits = {"pdf-fill": 0.5, "mail-send": 0.1, "deploy-app": 0.1}
    choice = {"pdf-fill": 0.8, "mail-send": 0.1, "deploy-app": 0.1}
    second = Router(ROSTER, ScriptedJudge(TURNS))
    local = Authored(list(ROSTER.names), fits, choice=choice)
    return Router(ROSTER, local, cascade=Cascade(second, band, per_minute=100))


def test_a_perfect_second_judge_mends_every_mistake_it_is_asked_about() -> None:
    answers = run_bench(cascading(ALWAYS), TURNS)
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
    answers = run_bench(cascading(NEVER), TURNS)
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
    band.write_text(ALWAYS.model_dump_json())
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
    band.write_text(ALWAYS.model_dump_json())
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


LABELS = [
    # Some golds are wrong on purpose: there must be mistakes of both kinds, whatever the weights.
    ("Fill in the tax form as a PDF.", "pdf-fill"),
    ("Fill in this PDF form for me.", "deploy-app"),
    ("Send an e-mail to Ana.", "mail-send"),
    ("Send an e-mail to Bob about lunch.", "pdf-fill"),
    ("What is a monad?", None),
    ("Tell me a joke about cats.", "mail-send"),
    ("Why is the sky blue?", None),
]


def labelled(folder: Path, roster: str) -> None:
    folder.mkdir()
    (folder / "roster.jsonl").write_text(Path(roster).read_text())
    lines = [json.dumps({"text": text, "gold": gold}) for text, gold in LABELS]
    (folder / "requests.jsonl").write_text("\n".join(lines))


def tune_band(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["tune-band", "--no-bundled", *arguments])


def test_tune_band_writes_a_band_that_loads(files: tuple[str, str], tmp_path: Path) -> None:
    out, data = tmp_path / "band.json", tmp_path / "data"
    data.mkdir()
    for name in ("one", "two"):
        labelled(data / name, files[0])
    result = tune_band("--data", str(data), "--out", str(out))
    assert result.exit_code == 0, result.output
    found = Band.load(out)
    printed = json.loads(result.stdout)
    assert (printed["speaks"], printed["silent"]) == (found.speaks, found.silent)
    assert printed["digest"] == found.digest
    assert [one["group"] for one in found.learned_on["rosters"]] == ["one", "two"]
    # A second run reads the cached index and says the same.
    again = tune_band("--data", str(data), "--out", str(out))
    assert json.loads(again.stdout) == printed


def test_tune_band_says_what_it_lacks(files: tuple[str, str], tmp_path: Path) -> None:
    labelled(tmp_path / "one", files[0])
    result = tune_band("--data", str(tmp_path / "one"), "--out", str(tmp_path / "band.json"))
    assert result.exit_code == 1
    assert "one more roster" in result.output
    assert not (tmp_path / "band.json").exists()
    assert tune_band().exit_code == 2


def test_a_setup_hides_its_key() -> None:
    assert "hush" not in repr(JudgeSetup(api_key=SecretStr("hush")))


def test_a_band_that_could_not_be_written_costs_no_run(tmp_path: Path) -> None:
    out = tmp_path / "no" / "band.json"
    result = CliRunner().invoke(main, ["tune-band", "--out", str(out)])
    assert result.exit_code == 2 and "there is no folder" in result.output
