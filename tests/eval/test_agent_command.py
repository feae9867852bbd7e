"""`skill-router bench` with an agent, as a user types it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from eval.data import requests_digest
from roster import Roster
from router import Gate, Ranking, Router, Thresholds, Turn
from router.cli import main
from tests.eval.fakes import WordJudge, shop, shop_turns
from tests.eval.messages_server import MessagesServer, error
from tests.eval.test_agent_store import MODEL, published

KEY = "sk-planted-key-0123456789"


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as running:
        yield running


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another judge, so that these tests do not wait for an index."""

    def load(roster: Any, *_: Any, **__: Any) -> Router:
        return Router(roster, WordJudge(), Thresholds(gate=0.3, fit=0.3))

    monkeypatch.setattr("eval.commands.bench.load_router", load)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: None) -> Any:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    roster, turns = tmp_path / "roster.json", tmp_path / "turns.jsonl"
    fields = {"name", "category", "description", "body"}
    roster.write_text(json.dumps([skill.model_dump(include=fields) for skill in shop()]))
    turns.write_text("\n".join(turn.model_dump_json() for turn in shop_turns()))

    def run(*arguments: str) -> Result:
        common = ["bench", "--roster", str(roster), "--requests", str(turns)]
        return CliRunner().invoke(main, [*common, *arguments])

    return run


def test_scripted_needs_no_key_and_prints_everything(bench: Any, tmp_path: Path) -> None:
    page, out = tmp_path / "page.html", tmp_path / "out.jsonl"
    result = bench("--agent", "scripted", "--html", str(page), "--out", str(out))
    assert result.exit_code == 0, result.output
    for word in ("wrong fixed/broke", "same/other cat.", "oracle / baseline", "right (of covered)"):
        assert word in result.stdout
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 36 and {line["arm"] for line in lines} == {
        "baseline", "suggested", "oracle",
    }  # fmt: skip
    assert {line["verdict"] for line in lines} <= {"right", "wrong", "none", "needless", "quiet"}
    assert page.read_text().startswith("<!doctype html>")


def test_json_is_one_object(bench: Any) -> None:
    result = bench("--agent", "scripted", "--json", "--arms", "oracle, baseline")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert list(data["agent"]["arms"]) == ["oracle", "baseline"]
    assert data["agent"]["live"] == 24
    assert data["router"]["covered"] == 7
    assert data["agent"]["pairs"][0]["wrong_load"]["p"] <= 1.0


def test_claude_then_replay(bench: Any, server: MessagesServer, tmp_path: Path) -> None:
    common = ("--store", str(tmp_path / "s.sqlite"), "--agent-base-url", server.url, "--json")
    first = bench("--agent", f"claude:{MODEL}", *common)
    assert first.exit_code == 0, first.output
    live = json.loads(first.stdout)["agent"]
    assert live["live"] == len(server.seen) > 0
    assert live["arms"]["baseline"]["cost_usd"] > 0
    second = bench("--agent", f"replay:{MODEL}", *common)
    assert second.exit_code == 0, second.output
    replay = json.loads(second.stdout)["agent"]
    assert replay["live"] == 0 and len(server.seen) == live["live"]
    for arm in ("baseline", "suggested", "oracle"):
        for rate in ("wrong_load", "needless_load"):
            assert replay["arms"][arm][rate] == live["arms"][arm][rate]
    assert KEY not in first.output + second.output


def test_a_capped_run_reports_what_is_missing_and_goes_on(
    bench: Any, server: MessagesServer, tmp_path: Path
) -> None:
    common = (
        "--agent", f"claude:{MODEL}", "--arms", "baseline", "--max-calls", "7",
        "--store", str(tmp_path / "s.sqlite"), "--agent-base-url", server.url,
    )  # fmt: skip
    first = bench(*common)
    assert first.exit_code == 1
    assert "5 turns are unanswered" in first.stderr
    assert "cap of 7 calls is reached" in first.stderr
    second = bench(*common)
    assert second.exit_code == 0, second.output
    assert "5 live requests" in second.stdout and len(server.seen) == 12


def test_a_published_run_replays_from_the_command(bench: Any, tmp_path: Path) -> None:
    cache = tmp_path / "json_cache.json"
    published(cache)
    result = bench(
        "--agent", f"replay:{MODEL}", "--import", str(cache), "--arms", "baseline,Hosted,oracle",
        "--store", str(tmp_path / "s.sqlite"), "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "imported 36 answers" in result.stderr
    agent = json.loads(result.stdout)["agent"]
    assert agent["live"] == 0 and agent["arms"]["Hosted"]["told"]["right"] == 1


def test_batch_from_the_command(bench: Any, server: MessagesServer, tmp_path: Path) -> None:
    server.polls_until_ended = 0
    result = bench(
        "--agent", f"claude:{MODEL}", "--batch", "--arms", "oracle", "--json",
        "--store", str(tmp_path / "s.sqlite"), "--agent-base-url", server.url,
    )  # fmt: skip
    assert result.exit_code == 1 and "its batch entry is expired" in result.stderr
    oracle = json.loads(result.stdout)["agent"]["arms"]["oracle"]
    assert oracle["wrong_load"]["count"] == 0 and oracle["unanswered"] == 1
    assert not server.seen and server.batch_creations == 1


def test_the_router_alone_has_a_page(bench: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = bench("--html", str(page), "--json")
    assert result.exit_code == 0, result.output
    assert "agent" not in json.loads(result.stdout)
    text = page.read_text()
    assert "Router benchmark" in text and "ECE" in text and "<article" in text


def test_a_wrong_key_is_one_line(bench: Any, tmp_path: Path) -> None:
    with MessagesServer(lambda n, b: error(401, "authentication_error")) as server:
        result = bench(
            "--agent", f"claude:{MODEL}", "--agent-base-url", server.url,
            "--store", str(tmp_path / "s.sqlite"),
        )  # fmt: skip
    assert result.exit_code == 1
    assert result.stderr.strip().splitlines() == [
        f"Error: the server refuses requests for '{MODEL}': status 401: this is "
        "authentication_error"
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--agent", "gpt:x"), "use claude:MODEL, scripted or replay:MODEL"),
        (("--agent", "claude"), "write --agent claude:claude-haiku"),
        (("--agent", "scripted:x"), "write --agent scripted"),
        (("--agent", "scripted", "--batch"), "--batch needs --agent claude:MODEL"),
        (("--agent", "scripted", "--arms", "baseline,,oracle"), "distinct names"),
        (("--agent", "scripted", "--arms", "oracle,oracle"), "distinct names"),
        (("--arms", "baseline"), "--arms needs --agent"),
        (("--max-calls", "3"), "--max-calls needs --agent"),
        (("--import", "x.json"), "--import needs --agent"),
        (("--agent-base-url", "http://127.0.0.1:1"), "--agent-base-url needs --agent"),
        (("--agent", "scripted", "--price", "1"), "is not two prices such as 1,5"),
        (("--agent", "scripted", "--price", "1,nan"), "nan is not in the range"),
        (("--agent", "scripted", "--price", "1,5", "--prices", "x"), "--price or --prices"),
        (("--price", "1,5"), "--price needs --agent"),
    ],
)
def test_what_makes_no_sense_is_refused(bench: Any, arguments: tuple[str, ...], says: str) -> None:
    result = bench(*arguments)
    assert result.exit_code in (1, 2), result.output
    assert says in " ".join(result.stderr.split()) and "Traceback" not in result.output


@pytest.fixture
def no_router(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: Any, **__: Any) -> Router:
        raise AssertionError("the router was loaded, and would have been asked, for nothing")

    monkeypatch.setattr("eval.commands.bench.load_router", load)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--html", "/no/such/page.html"), "there is no folder /no/such"),
        (("--html", "/"), "is a folder"),
        (("--out", "/no/such/o.jsonl"), "there is no folder /no/such"),
        (("--agent", "scripted", "--arms", "Hosted"), "there is no arm 'Hosted'"),
        (("--agent", "scripted", "--prices", "/no/such"), "cannot be read"),
        (("--agent", "scripted", "--store", "/proc/none/s.sqlite"), "cannot be used as a store"),
        (("--agent", "scripted", "--import", "/no/such"), "cannot be read"),
        (("--agent", f"claude:{MODEL}"), "there is no key for the agent"),
    ],
)
def test_what_can_be_known_before_is_said_before(
    bench: Any, no_router: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...], says: str,
) -> None:  # fmt: skip
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    result = bench(*arguments)
    assert result.exit_code in (1, 2), result.output
    assert says in " ".join(result.stderr.split()) and "Traceback" not in result.output


@pytest.mark.parametrize(
    ("missing", "arguments", "says"),
    [
        ("matplotlib", ("--html", "p.html"), "--html needs matplotlib: pip install 'skill-r"),
        ("jinja2", ("--html", "p.html"), "--html needs jinja2: pip install 'skill-router[report]'"),
        ("tenacity", ("--agent", f"claude:{MODEL}"), "tenacity: pip install 'skill-router[agents]"),
        ("sentence_transformers", ("--encode-baseline",), "pip install 'skill-router[train]'"),
    ],
)
def test_a_missing_extra_is_said_before_anything_is_asked(
    bench: Any, no_router: None, monkeypatch: pytest.MonkeyPatch, missing: str,
    arguments: tuple[str, ...], says: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(
        "eval.commands.outputs.find_spec", lambda name: None if name == missing else "there"
    )
    result = bench(*arguments)
    assert result.exit_code == 2, result.output
    assert says in " ".join(result.stderr.split())


def test_the_price_is_dated_and_can_be_replaced(
    bench: Any, server: MessagesServer, tmp_path: Path
) -> None:
    common = (
        "--agent", f"claude:{MODEL}", "--arms", "baseline", "--agent-base-url", server.url,
        "--store", str(tmp_path / "s.sqlite"),
    )  # fmt: skip
    page = tmp_path / "page.html"
    printed = " ".join(bench(*common, "--html", str(page)).stdout.split())
    for text in (printed, page.read_text()):
        assert "November 2025, not verified; --price IN,OUT" in text
    shipped = json.loads(bench(*common, "--json").stdout)["agent"]
    mine = json.loads(bench(*common, "--json", "--price", "2,10").stdout)["agent"]
    assert mine["price"]["source"] == "given by --price"
    costs = [agent["arms"]["baseline"]["cost_usd"] for agent in (shipped, mine)]
    assert costs[1] == pytest.approx(2 * costs[0], abs=2e-6)
    unknown = ("--agent", "claude:m", *common[2:])
    assert "no price is known for this model" in bench(*unknown).stdout


def test_an_imported_run_answers_nothing_unasked(
    bench: Any, server: MessagesServer, tmp_path: Path
) -> None:
    cache = tmp_path / "json_cache.json"
    published(cache)
    store = ("--store", str(tmp_path / "s.sqlite"), "--arms", "baseline,oracle", "--json")
    replay = bench("--agent", f"replay:{MODEL}", "--import", str(cache), *store)
    assert json.loads(replay.stdout)["agent"]["live"] == 0
    live = bench("--agent", f"claude:{MODEL}", "--agent-base-url", server.url, *store)
    assert json.loads(live.stdout)["agent"]["live"] == 24 == len(server.seen)


def test_thresholds_chosen_on_the_same_requests_are_announced(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = requests_digest(shop_turns())
    for tuned, said in ((digest, True), ("0" * 64, False)):
        thresholds = Thresholds(gate=0.3, fit=0.3, requests_digest=tuned)

        def load(roster: Any, *_: Any, tuned: Thresholds = thresholds, **__: Any) -> Router:
            return Router(roster, WordJudge(), tuned)

        monkeypatch.setattr("eval.commands.bench.load_router", load)
        assert ("chosen on these very requests" in bench().stderr) == said


def test_a_paid_judge_is_asked_once_for_the_page(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Counting(WordJudge):
        def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
            asked.append(turn.request)
            if turn.request.startswith("Say hello"):
                raise RuntimeError("the server is down")
            return super().rank(turn, roster)

    def load(roster: Any, *_: Any, **__: Any) -> Router:
        return Router(roster, Counting(), Thresholds(gate=0.6, fit=0.3))

    monkeypatch.setattr("eval.commands.bench.load_router", load)
    page = tmp_path / "page.html"
    result = bench("--judge", "claude", "--html", str(page))
    assert result.exit_code == 0, result.output
    assert max(asked.count(turn.text) for turn in shop_turns()) == 1
    assert "The judge was not asked again" in page.read_text()


def test_nothing_replaced_on_the_bundled_roster(router: Router, tmp_path: Path) -> None:
    """The path that the documentation shows; `router` has built the index already."""
    page, few = tmp_path / "page.html", tmp_path / "few.jsonl"
    bundled = Path(__file__).parent.parent.parent / "requests" / "bundled.jsonl"
    few.write_text("".join(bundled.read_text(encoding="utf-8").splitlines(keepends=True)[:40]))
    result = CliRunner().invoke(
        main,
        ["bench", "--agent", "scripted", "--requests", str(few), "--html", str(page), "--json"],
    )
    assert result.exit_code == 0, result.output
    arms = json.loads(result.stdout)["agent"]["arms"]
    assert arms["suggested"]["wrong_load"]["value"] < arms["baseline"]["wrong_load"]["value"]
    assert arms["oracle"]["wrong_load"]["value"] < arms["baseline"]["wrong_load"]["value"]
    assert "Trade-off over thresholds" in page.read_text()
