"""The claude agent with the real SDK, against a server on the loopback."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.agent_bench import ARMS, AgentRun, arms_told, run_agent_bench
from eval.agent_summary import summarize_agent
from eval.agents.budget import Budget, worst_case_tokens
from eval.agents.claude import ClaudeAgent, make_client
from eval.agents.prices import Price
from eval.agents.prompt import agent_request, system_prompt
from eval.agents.protocol import AgentError
from eval.agents.store import ResultStore, StoreError
from eval.bench import run_bench
from router import Router, Thresholds
from tests.eval.fakes import WordJudge, shop, shop_turns
from tests.eval.messages_server import MessagesServer, Say, error, loads, message

KEY = "sk-planted-key-0123456789"
MODEL = "claude-haiku-4-5-20251001"


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as running:
        yield running


def measure(
    server: MessagesServer,
    store: ResultStore,
    arms: tuple[str, ...] = ARMS,
    **settings: Any,
) -> AgentRun:
    agent = ClaudeAgent(
        MODEL, make_client(server.url, KEY, timeout=5.0), server.url, backoff=0.01, **settings
    )
    roster, turns = shop(), shop_turns()
    answers = run_bench(Router(roster, WordJudge(), Thresholds(gate=0.3, fit=0.6)), turns)
    told = arms_told(arms, turns, answers, store, MODEL)
    return run_agent_bench(agent, roster, turns, told, store)


def test_what_is_sent_and_how_it_is_graded(server: MessagesServer) -> None:
    with ResultStore(":memory:") as store:
        run = measure(server, store)
    assert {body["model"] for body in server.seen} == {MODEL}
    prompts = {body["system"][0]["text"] for body in server.seen}
    assert prompts == {system_prompt(shop())}, "the roster prompt is the same bytes on every turn"
    for body in server.seen:
        assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
        assert all("cache_control" not in block for block in body["system"][1:])
        assert body["tools"][0]["name"] == "skill_view" and len(body["tools"]) == 4
    without = [body for body in server.seen if len(body["system"]) == 1]
    assert len(without) == len(shop_turns()), "the baseline tells nothing"
    assert all(header["Authorization"] == f"Bearer {KEY}" or header.get("x-api-key") == KEY
               for header in server.headers)  # fmt: skip

    summary = summarize_agent(run, shop(), Price(input=1.0, output=5.0))
    # The server's agent loads nothing unasked, and follows every block.
    assert summary.arms["baseline"].wrong_load.value == 1.0
    assert summary.arms["baseline"].wrong_none == 7
    assert summary.arms["baseline"].needless_load.count == 0
    assert summary.arms["oracle"].wrong_load.count == 0
    suggested = summary.arms["suggested"]
    assert suggested.wrong_load.count == suggested.told["silent"] + suggested.told["wrong"]
    pair = next(p for p in summary.pairs if (p.first, p.second) == ("baseline", "oracle"))
    assert (pair.wrong_load.only_second, pair.wrong_load.only_first) == (7, 0)
    assert pair.wrong_load.p == pytest.approx(2 * 0.5**7)
    baseline = summary.arms["baseline"]
    assert baseline.usage.cache_write > 0, "the first call writes the cache, alone"
    assert baseline.usage.cache_read == 11 * baseline.usage.cache_write
    dollars = (12 * 20 + 1.25 * baseline.usage.cache_write + 0.1 * baseline.usage.cache_read) / 1e6
    assert baseline.cost_usd == pytest.approx(dollars + 12 * 7 * 5 / 1e6, abs=1e-6)
    assert baseline.latency_ms is not None and baseline.latency_ms["p50"] > 0


def test_arms_that_send_the_same_bytes_share_one_call(server: MessagesServer) -> None:
    with ResultStore(":memory:") as store:
        run = measure(server, store)
    bodies = [repr(body) for body in server.seen]
    assert len(bodies) == len(set(bodies)) == run.live
    alike = sum(
        a.told == b.told for a, b in zip(run.arms["suggested"], run.arms["oracle"], strict=True)
    )
    assert alike > 0 and run.live == 3 * len(shop_turns()) - alike


def test_a_rerun_replays_and_makes_no_call(server: MessagesServer, tmp_path: Path) -> None:
    with ResultStore(tmp_path / "s.sqlite") as store:
        first = measure(server, store)
    calls = len(server.seen)
    with ResultStore(tmp_path / "s.sqlite") as store:
        second = measure(server, store)
    assert first.live == calls and second.live == 0 and len(server.seen) == calls
    assert {o.source for row in second.arms.values() for o in row} == {"replayed"}
    assert [o.reply for o in first.arms["oracle"]] == [o.reply for o in second.arms["oracle"]]


@pytest.mark.parametrize(
    "trouble",
    [
        error(429, "rate_limit_error", {"retry-after": "0"}),
        error(529, "overloaded_error"),
        error(500, "api_error"),
        Say(body=b'{"id": "msg_1", "type": "mess', cut=True),
        Say(body=b"<html>gateway</html>"),
        Say(body=b'{"type": "message", "content": "no list", "usage": {}}'),
        Say(body=b'{"type": "message", "content": [], "usage": {"input_tokens": -4}}'),
        Say(body=b""),
    ],
    ids=["429", "529", "500", "cut", "html", "content", "usage", "empty"],
)
def test_trouble_that_passes_is_tried_again(trouble: Say) -> None:
    def plan(number: int, body: dict[str, Any]) -> Say | None:
        return trouble if number in (0, 1, 5) else None

    with MessagesServer(plan) as server, ResultStore(":memory:") as store:
        run = measure(server, store, ("baseline",), workers=3)
    assert all(outcome.source == "live" for outcome in run.arms["baseline"])
    assert len(server.seen) == len(shop_turns()) + 3
    assert set(server.answered.values()) == {1}, "no good answer was asked for twice"


def test_a_busy_server_pauses_every_worker() -> None:
    times: list[float] = []

    def plan(number: int, body: dict[str, Any]) -> Say | None:
        times.append(time.monotonic())
        return error(429, "rate_limit_error", {"retry-after": "0.6"}) if number == 4 else None

    with MessagesServer(plan) as server, ResultStore(":memory:") as store:
        run = measure(server, store, ("baseline",), workers=2)
    assert all(outcome.reply for outcome in run.arms["baseline"])
    # The other worker's calls already under way may still arrive; after them nobody calls.
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert max(gaps) >= 0.5


def test_trouble_that_stays_costs_one_request_not_the_run() -> None:
    def plan(number: int, body: dict[str, Any]) -> Say | None:
        return error(500, "api_error") if "monad" in str(body["messages"]) else None

    with MessagesServer(plan) as server, ResultStore(":memory:") as store:
        run = measure(server, store, ("baseline",), attempts=3)
    lost = [outcome for outcome in run.arms["baseline"] if outcome.reply is None]
    assert [outcome.turn.text for outcome in lost] == ["What is a monad?"]
    assert lost[0].why == "status 500: this is api_error"
    assert sum("monad" in str(body["messages"]) for body in server.seen) == 3
    summary = summarize_agent(run, shop())
    assert summary.arms["baseline"].unanswered == 1
    assert summary.arms["baseline"].needless_load.total == 4, "no rate counts it"


def test_a_dead_server_is_given_up_soon() -> None:
    with (
        MessagesServer(lambda n, b: None if n == 0 else error(503, "api_error")) as server,
        ResultStore(":memory:") as store,
    ):
        run = measure(server, store, ARMS, attempts=2, workers=1)
    assert len(server.seen) == 1 + 5 * 2
    assert sum(outcome.reply is not None for outcome in run.arms["baseline"]) == 1
    assert "answered none of 5 requests in a row" in str(run.arms["oracle"][-1].why)


@pytest.mark.parametrize("status", [401, 403, 404, 400])
def test_a_wrong_setup_is_refused_at_the_first_call(status: int) -> None:
    with (
        MessagesServer(lambda n, b: error(status, "some_error")) as server,
        ResultStore(":memory:") as store,
        pytest.raises(AgentError, match=f"status {status}: this is some_error") as caught,
    ):
        measure(server, store)
    assert len(server.seen) == 1
    assert KEY not in str(caught.value)


def test_an_unreachable_server_is_said_at_the_first_call(tmp_path: Path) -> None:
    with MessagesServer() as server:
        url = server.url
    agent = ClaudeAgent(MODEL, make_client(url, KEY), url, attempts=2, backoff=0.01)
    with (
        ResultStore(tmp_path / "s.sqlite") as store,
        pytest.raises(AgentError, match="does not answer, after 2 attempts: Connection error"),
    ):
        told = arms_told(("baseline",), shop_turns(), None, store, MODEL)
        run_agent_bench(agent, shop(), shop_turns(), told, store)


@pytest.mark.parametrize(
    ("content", "loaded"),
    [
        ([{"type": "tool_use", "id": "t", "name": "skill_view", "input": {}}], ("",)),
        ([{"type": "tool_use", "id": "t", "name": "skill_view", "input": None}], ("",)),
        ([{"type": "tool_use", "id": "t", "name": "skill_view", "input": {"name": 3}}], ("",)),
        (
            [{"type": "tool_use", "id": "t", "name": "skill_view", "input": {"name": "x" * 999}}],
            ("x" * 200,),
        ),
        ([{"type": "tool_use", "id": "t", "input": {"name": "jam-cook"}}], ()),
        ([{"type": "tool_use", "id": "t", "name": None, "input": {}}], ()),
        ([{"type": "text", "text": "skill_view"}, {"type": "new_kind"}], ()),
        ([*loads("jam-cook"), *loads("kite-repair")], ("jam-cook", "kite-repair")),
    ],
)
def test_odd_tool_calls_are_graded(content: list[dict[str, Any]], loaded: tuple[str, ...]) -> None:
    with MessagesServer(lambda n, b: message(content)) as server, ResultStore(":memory:") as store:
        run = measure(server, store, ("baseline",))
    outcomes = {outcome.turn.text: outcome for outcome in run.arms["baseline"]}
    assert all(outcome.reply and outcome.reply.loaded == loaded for outcome in outcomes.values())
    uncovered = outcomes["What is a monad?"]
    assert uncovered.verdict == ("needless" if loaded else "quiet")
    jam = outcomes["Cook plum jam and fill six jars"].verdict
    assert jam == ("none" if not loaded else "right" if loaded[0] == "jam-cook" else "wrong")


def test_the_cap_on_calls_holds_and_the_next_run_goes_on(
    server: MessagesServer, tmp_path: Path
) -> None:
    path = tmp_path / "s.sqlite"
    seen = []
    for _ in range(3):
        with ResultStore(path) as store:
            run = measure(server, store, ("baseline",), budget=Budget(calls=5), workers=4)
        seen.append(len(server.seen))
    assert seen == [5, 10, 12]
    assert set(server.answered.values()) == {1}
    assert all(outcome.reply for outcome in run.arms["baseline"])


def test_the_cap_on_tokens_is_never_passed(server: MessagesServer) -> None:
    request = agent_request(MODEL, system_prompt(shop()), shop_turns()[0], "")
    budget = Budget(tokens=3 * worst_case_tokens(request))
    with ResultStore(":memory:") as store:
        run = measure(server, store, budget=budget, workers=4)
    used = sum(o.reply.usage.total for row in run.arms.values() for o in row if o.reply is not None)
    assert 0 < used <= 3 * worst_case_tokens(request)
    why = {o.why for row in run.arms.values() for o in row if o.reply is None}
    assert any("tokens is near" in str(each) for each in why)


@pytest.mark.parametrize(
    ("trouble", "says"),
    [("max_page_count = 20", "is full"), ("query_only = ON", "readonly database")],
)
def test_a_store_that_takes_no_more_stops_the_run_before_the_next_call(
    server: MessagesServer, tmp_path: Path, trouble: str, says: str
) -> None:
    path = tmp_path / "s.sqlite"

    def plan(number: int, body: dict[str, Any]) -> Say | None:
        if number == 5:
            store._db.execute(f"PRAGMA {trouble}")
            # Long enough to need a page of its own, and more than the file may have.
            return message(loads("x" * 190) * 400)
        return None

    server.plan = plan
    with ResultStore(path) as store:
        with pytest.raises(StoreError, match=says) as raised:
            measure(server, store, workers=1)
        store._db.execute("PRAGMA query_only = OFF")
    assert str(path) in str(raised.value)
    assert len(server.seen) == 6, "no call is paid whose answer cannot be kept"
    server.plan = lambda number, body: None
    with ResultStore(path) as store:
        run = measure(server, store, workers=1)
    assert sum(o.source == "replayed" for row in run.arms.values() for o in row) >= 5
    assert run.interrupted <= 1


def test_no_more_calls_at_a_time_than_workers() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def plan(number: int, body: dict[str, Any]) -> Say | None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return None

    with MessagesServer(plan) as server, ResultStore(":memory:") as store:
        measure(server, store, workers=3)
    assert 2 <= most <= 3


def test_a_steady_rate(server: MessagesServer) -> None:
    started = time.monotonic()
    with ResultStore(":memory:") as store:
        measure(server, store, ("baseline",), per_minute=1200, workers=8)
    assert time.monotonic() - started >= 11 * 0.05


def test_a_missing_key_is_said_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with pytest.raises(AgentError, match="set ANTHROPIC_API_KEY"):
        make_client("http://127.0.0.1:9")


def test_the_key_is_in_no_file(server: MessagesServer, tmp_path: Path) -> None:
    with ResultStore(tmp_path / "s.sqlite") as store:
        measure(server, store)
        assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())
