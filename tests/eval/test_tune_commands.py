"""`skill-router tune` and `skill-router sensitivity` with the real judge, as a user types them."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from eval.tune import Outcome, Verdict
from roster import Roster
from router import Router, Thresholds
from router.cli import main

SKILLS = {
    "kite-repair": "Mend torn kite sails and broken spars. Use when a kite ripped or snapped.",
    "bread-bake": "Bake sourdough bread from a starter. Use for loaves, dough and proofing.",
    "jam-cook": "Cook jam from summer fruit and fill jars. Use for preserves.",
    "invoice-send": "Write an invoice as PDF and mail it to the client. Use for billing.",
    "log-search": "Search server logs for errors in a time window. Use to find stack traces.",
    "photo-sort": "Sort photos into folders by date and camera. Use to tidy the picture library.",
}
ASKS = {
    "kite-repair": ("my kite ripped, mend the sail", "glue the broken spar of the kite"),
    "bread-bake": ("bake a sourdough loaf for sunday", "proof this dough and bake it"),
    "jam-cook": ("cook the plums into jam", "fill ten jars with strawberry preserves"),
    "invoice-send": ("send ACME an invoice for March", "bill the client and mail the PDF"),
    "log-search": ("find the errors in the server logs of last night", "search logs for the trace"),
    "photo-sort": ("sort my holiday photos by date", "tidy the picture library into folders"),
}
OTHERS = (
    "what is a monad", "tell me a joke", "thanks, that helped", "who wrote Middlemarch",
    "explain TCP slow start", "is tea better than coffee", "book me a flight to Oslo",
    "translate good morning into Welsh", "why is the sky blue", "how do kites stay up",
    "how long does jam keep", "what year is it",
)  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("workshop")
    skills = [
        {"name": n, "category": "home", "description": d, "body": f"Steps for {n}. {d}"}
        for n, d in SKILLS.items()
    ]
    turns = [{"text": text, "gold": gold} for gold, texts in ASKS.items() for text in texts]
    turns += [{"text": text, "gold": None} for text in OTHERS]
    (folder / "roster.json").write_text(json.dumps(skills))
    (folder / "turns.jsonl").write_text("\n".join(map(json.dumps, turns)))
    return str(folder / "roster.json"), str(folder / "turns.jsonl")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def good(*arguments: str) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def on(files: Sequence[str]) -> list[str]:
    return ["--roster", files[0], "--requests", files[1]]


def test_tune_writes_thresholds_that_load_without_a_warning(
    files: tuple[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out, plot, stages = (str(tmp_path / n) for n in ("t.toml", "front.png", "stages.json"))
    arguments = [*on(files), "--folds", "3", "--out", out, "--plot", plot, "--stages", stages]
    arguments += ["--force"]
    printed = good("tune", *arguments).output
    assert "pairs of gate and fit" in printed and "McNemar" in printed
    assert Path(plot).read_bytes().startswith(b"\x89PNG")
    thresholds = Thresholds.from_toml(out)
    roster = Roster.from_json(files[0])
    assert thresholds.roster_digest == roster.digest
    with caplog.at_level(logging.WARNING):
        router = Router.load(roster, thresholds=out)
        assert not caplog.records
        Router.load(Roster.from_skills(roster.skills[:3]), thresholds=out)
    assert "tuned on another roster" in caplog.text
    assert router.thresholds == thresholds
    again = json.loads(good("tune", *arguments, "--json").output)
    assert again["chosen"] == thresholds.model_dump()
    assert again["replayed_otherwise"] == 0
    assert again["gate_fit_pairs"] >= 10_000
    assert again["written"] == out


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_a_gain_that_survives_is_written(
    files: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    outcome: Outcome,
) -> None:
    there = outcome in (Outcome.UNPROVEN, Outcome.SAME)

    def verdict(*_: object) -> Verdict:
        return Verdict(outcome=outcome, sentence="So it is.")

    # By module: the package has a function of the module's name.
    monkeypatch.setattr(sys.modules["eval.tune.tune"], "judge_gain", verdict)
    out, mine = tmp_path / "t.toml", "gate = 0.5  # mine\n"
    if there:
        out.write_text(mine)
    arguments = ["tune", *on(files), "--folds", "2", "--out", str(out), "--step", "0.1"]
    arguments += ["--stages", str(Path(files[0]).parent / "stages.json")]
    printed = good(*arguments).output
    if outcome is Outcome.SURVIVES:
        assert f"written: {out}" in printed
        assert Thresholds.from_toml(out).requests_digest
        return
    assert out.exists() == there and (not there or out.read_text() == mine)
    assert ("left as it was" if there else "is not written") in printed and "--force" in printed
    assert json.loads(good(*arguments, "--json").output)["written"] is None
    assert f"written: {out}" in good(*arguments, "--force").output
    assert outcome.value in out.read_text()


def test_the_command_line_warns_of_thresholds_for_something_else(
    files: tuple[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.toml"
    path.write_text(Thresholds(roster_digest="0" * 64).to_toml())
    caplog.set_level(logging.ERROR)  # what the command sets without --verbose
    caplog.handler.setLevel(logging.NOTSET)
    good("suggest", "bake bread", "--roster", files[0], "--thresholds", str(path))
    assert "tuned on another roster" in caplog.text


def test_tune_refuses_stage_outputs_of_another_roster(
    files: tuple[str, str], tmp_path: Path
) -> None:
    stages, other = tmp_path / "stages.json", tmp_path / "other.json"
    arguments = ["--folds", "3", "--out", str(tmp_path / "t.toml"), "--stages", str(stages)]
    good("tune", *on(files), *arguments)
    skills = json.loads(Path(files[0]).read_text())
    skills[0]["body"] += " More."
    other.write_text(json.dumps(skills))
    result = run("tune", "--roster", str(other), "--requests", files[1], *arguments)
    assert result.exit_code == 1 and "another roster or other weights" in result.output


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "holds no requests"),
        ([{"text": "a", "gold": "cake"}], ":1: gold: the roster has no skill 'cake'"),
        ([{"text": "a", "gold": None}, {"text": "a", "gold": None}], ":2: text: the same request"),
        ([{"text": "a", "gold": None}, {"text": "b", "gold": None}], ":1-2: gold: is null in all"),
        ([{"text": "a", "gold": "jam-cook"}], ":1-1: gold: is a skill in all"),
        ([{"text": "a", "gold": "jam-cook"}, {"text": "b", "gold": None}], "cannot fill 5 folds"),
        ([{"text": " ", "gold": None}], ":1: text: is blank"),
        ([{"text": "a"}], ":1: gold: is missing"),
    ],
)
def test_tune_names_the_line_of_bad_requests(
    files: tuple[str, str], tmp_path: Path, rows: list[dict[str, str]], message: str
) -> None:
    requests = tmp_path / "bad.jsonl"
    requests.write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "t.toml"
    result = run("tune", "--roster", files[0], "--requests", str(requests), "--out", str(out))
    assert result.exit_code == 1
    assert message in result.output
    assert str(requests) in result.output or "folds" in message
    assert isinstance(result.exception, SystemExit) and not out.exists()


def test_tune_without_the_extra_says_so_before_it_starts(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(name: str) -> None:
        assert name == "matplotlib"

    monkeypatch.setattr("eval.commands.outputs.find_spec", none)
    result = run("tune", *on(files), "--plot", str(tmp_path / "x.png"))
    assert result.exit_code == 2
    assert "--plot needs matplotlib: pip install 'skill-router[report]'" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("--needless-at-most", "nan"),
        ("--needless-at-most", "1.5"),
        ("--needless-at-most", "5%", "--cost-wrong", "1"),
        ("--cost-wrong", "nan"),
        ("--cost-wrong", "-1"),
        ("--step", "0"),
        ("--shortlist", "0"),
        ("--shortlist", "a"),
        ("--excerpt", "-1"),
        ("--folds", "1"),
        ("--plot", "x.bmp"),
        ("--out", "/no/such/folder/t.toml"),
        ("--out", "/"),
        ("--judge", "cascade"),
    ],
)
def test_tune_refuses_bad_options_before_it_starts(
    files: tuple[str, str], arguments: tuple[str, ...]
) -> None:
    result = run("tune", *on(files), *arguments)
    assert result.exit_code == 2 and "Error:" in result.output


def test_tune_keeps_a_bound(files: tuple[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "t.toml")
    arguments = [*on(files), "--folds", "3", "--out", out, "--json", "--needless-at-most", "10%"]
    result = json.loads(good("tune", *arguments).output)
    assert result["scores_chosen"]["needless"]["value"] <= 0.1
    assert "at most 10.0%" in result["objective"]


def test_variants_of_the_router_alone(files: tuple[str, str], tmp_path: Path) -> None:
    variants = tmp_path / "variants.toml"
    variants.write_text(
        '[[variant]]\nname = "vague"\ndescriptions = {jam-cook = "Kitchen helper", '
        'bread-bake = "Kitchen helper", kite-repair = "Toy helper"}\n'
    )
    arguments = [*on(files), "--variants", str(variants), "--shuffles", "2", "--folds", "3"]
    report = json.loads(good("sensitivity", "variants", *arguments, "--json").output)
    assert [score["name"] for score in report["scores"]] == [
        "original", "vague", "order-1", "order-2",
    ]  # fmt: skip
    orders = next(spread for spread in report["spreads"] if spread["kind"] == "order")
    assert orders["least"] == orders["most"], "the router ranks alike in any order"
    assert "case-sampling sd" in good("sensitivity", "variants", *arguments).output


def test_variants_of_an_agent_are_kept_and_replayed(files: tuple[str, str], tmp_path: Path) -> None:
    variants = tmp_path / "variants.toml"
    variants.write_text('[[variant]]\nname = "mute"\nblock = {suggested = "{name}", silent = ""}\n')
    arguments = ["sensitivity", "variants", *on(files), "--variants", str(variants)]
    assert "only an agent reads" in run(*arguments).output
    arguments += ["--agent", "scripted", "--store", str(tmp_path / "answers.sqlite"), "--json"]
    first, second = good(*arguments), good(*arguments)
    assert "48 live answers, 0 replayed" in first.stderr
    assert "0 live answers, 48 replayed" in second.stderr
    assert json.loads(first.stdout) == json.loads(second.stdout)


def test_an_edit_of_one_description(files: tuple[str, str], tmp_path: Path) -> None:
    new = tmp_path / "description.txt"
    new.write_text("Kitchen helper\n")
    arguments = ["sensitivity", "description", "jam-cook", *on(files), "--file", str(new)]
    report = json.loads(good(*arguments, "--json", "--all").output)
    assert report["needing"] == 2 and report["checked"] == 24
    assert report["characters_after"] == len("Kitchen helper")
    assert report["miss_after"]["value"] >= report["miss_before"]["value"]
    printed = good(*arguments).output
    assert "misses" in printed and "false loads" in printed and "neighbours:" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("variants",), "give --variants FILE, --shuffles N"),
        (("variants", "--shuffles", "1", "--store", "x"), "--store needs --agent"),
        (("variants", "--shuffles", "1", "--agent", "gpt"), "use claude:MODEL"),
        (("variants", "--variants", "/no/such.toml"), "/no/such.toml: cannot be read"),
        (("description", "jam-cook"), "--text or --file"),
        (("description", "jam-cook", "--text", " "), "is blank"),
        (("description", "cake", "--text", "x"), "no skill 'cake'"),
        (("description", "jam-cook", "--file", "/no/such"), "/no/such: cannot be read"),
        (("description", "jam-cook", "--text", "x", "--neighbour", "cake"), "no skill 'cake'"),
    ],
)
def test_sensitivity_says_what_is_wrong(
    files: tuple[str, str], arguments: tuple[str, ...], message: str
) -> None:
    result = run("sensitivity", *arguments, *on(files))
    assert result.exit_code in (1, 2) and message in result.output
    assert isinstance(result.exception, SystemExit)
