"""The claude agent through the Message Batches API, with the real SDK."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from eval.agent_bench import AgentRun, arms_told, run_agent_bench
from eval.agent_summary import summarize_agent
from eval.agents.batch import ClaudeBatchAgent
from eval.agents.budget import Budget
from eval.agents.claude import make_client
from eval.agents.prices import Price
from eval.agents.protocol import AgentError
from eval.agents.store import ResultStore
from tests.eval.fakes import shop, shop_turns
from tests.eval.messages_server import MessagesServer, Say, error

ARMS = ("baseline", "oracle")
EXPIRES = "Fill the tank of the car"  # the server lets this one's entries expire


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


def measure(server: MessagesServer, path: Path, budget: Budget | None = None) -> AgentRun:
    with ResultStore(path) as store:
        client = make_client(server.url, "sk-test", timeout=5.0)
        agent = ClaudeBatchAgent("m", client, store, server.url, budget=budget, poll_seconds=0.01)
        turns = shop_turns()
        told = arms_told(ARMS, turns, None, store, "m")
        return run_agent_bench(agent, shop(), turns, told, store)


def test_a_batch_is_graded_like_calls_and_costs_half(server: MessagesServer, path: Path) -> None:
    run = measure(server, path)
    assert server.batch_creations == 1 and not server.seen
    entries = server.batches["msgbatch_0"]["requests"]
    assert len({entry["custom_id"] for entry in entries}) == 24
    summary = summarize_agent(run, shop(), Price(input=2.0, output=10.0))
    assert summary.arms["oracle"].wrong_load.count == 0
    assert summary.arms["baseline"].wrong_load.count == 7
    assert summary.arms["oracle"].latency_ms is None
    oracle = summary.arms["oracle"]
    used = oracle.usage
    read = used.input + 0.1 * used.cache_read + 1.25 * used.cache_write
    full = (read * 2 + used.output * 10) / 1e6
    assert oracle.cost_usd == pytest.approx(full / 2, abs=1e-6)
    lost = [o for row in run.arms.values() for o in row if o.reply is None]
    assert {o.turn.text for o in lost} == {EXPIRES}
    assert {o.why for o in lost} == {"its batch entry is expired"}


def test_a_rerun_hands_in_only_what_is_missing(server: MessagesServer, path: Path) -> None:
    measure(server, path)
    run = measure(server, path)
    assert [len(b["requests"]) for b in server.batches.values()] == [24, 2]
    assert sum(o.source == "replayed" for row in run.arms.values() for o in row) == 22


def test_a_batch_that_was_handed_in_is_found_again(server: MessagesServer, path: Path) -> None:
    """The answer to the handing in is cut off: nobody was told the id."""
    server.batch_plan = lambda number: Say(body=b'{"id": "msgba', cut=True) if number == 0 else None
    with pytest.raises(AgentError, match="run the same command again"):
        measure(server, path)
    with ResultStore(path) as store:
        assert [batch.id for batch in store.batches()] == [None]
    run = measure(server, path)
    assert server.batch_creations == 1, "paid once"
    assert sum(o.reply is not None for row in run.arms.values() for o in row) == 22
    with ResultStore(path) as store:
        assert store.batches() == []


def test_a_batch_of_another_program_is_not_taken_for_ours(
    server: MessagesServer, path: Path
) -> None:
    """As large and as old as the one that was cut off; the newest is looked at first."""
    server.batch_plan = lambda number: Say(body=b'{"id": "msgba', cut=True) if number == 0 else None
    with pytest.raises(AgentError):
        measure(server, path)
    ours = server.batches["msgbatch_0"]["requests"]
    theirs = [{**entry, "custom_id": f"theirs-{n}"} for n, entry in enumerate(ours)]
    server.batches["msgbatch_theirs"] = {"requests": theirs, "polls": 0}
    run = measure(server, path)
    assert server.batch_creations == 1, "paid once"
    assert sum(o.reply is not None for row in run.arms.values() for o in row) == 22


def test_a_batch_whose_results_are_gone_is_handed_in_again(
    server: MessagesServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ResultStore, "drop_batch", lambda *_: None)
        measure(server, path)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM answers")
    db.close()
    server.archived.add("msgbatch_0")
    run = measure(server, path)
    assert server.batch_creations == 2
    assert sum(o.reply is not None for row in run.arms.values() for o in row) == 22


def test_a_batch_that_never_arrived_is_handed_in_again(server: MessagesServer, path: Path) -> None:
    server.batch_plan = lambda number: error(500, "api_error") if number == 0 else None
    with pytest.raises(AgentError):
        measure(server, path)
    server.batches.clear()  # the server did not take it
    run = measure(server, path)
    assert server.batch_creations == 2
    assert sum(o.reply is not None for row in run.arms.values() for o in row) == 22


def test_a_batch_of_an_earlier_run_is_kept_though_nobody_asks(
    server: MessagesServer, path: Path
) -> None:
    server.polls_until_ended = 10**6

    class Killed(BaseException):
        pass

    def kill(done: int, total: int) -> None:
        if server.batches["msgbatch_0"]["polls"] > 2:
            raise Killed

    client = make_client(server.url, "sk-test", timeout=5.0)
    with ResultStore(path) as store, pytest.raises(Killed):
        agent = ClaudeBatchAgent("m", client, store, server.url, poll_seconds=0.01, waiting=kill)
        told = arms_told(ARMS, shop_turns(), None, store, "m")
        run_agent_bench(agent, shop(), shop_turns(), told, store)
    server.polls_until_ended = 1
    with ResultStore(path) as store:  # fewer turns this time
        agent = ClaudeBatchAgent("m", client, store, server.url, poll_seconds=0.01)
        told = arms_told(ARMS, shop_turns()[:2], None, store, "m")
        run_agent_bench(agent, shop(), shop_turns()[:2], told, store)
    assert server.batch_creations == 1
    run = measure(server, path)
    assert server.batch_creations == 2 and len(server.batches["msgbatch_1"]["requests"]) == 2
    assert sum(o.source == "replayed" for row in run.arms.values() for o in row) == 22


def test_a_refused_batch_is_an_error_and_leaves_nothing_behind(
    server: MessagesServer, path: Path
) -> None:
    server.batch_plan = lambda number: error(400, "invalid_request_error")
    with pytest.raises(AgentError, match="refuses the batch: status 400: this is invalid"):
        measure(server, path)
    with ResultStore(path) as store:
        assert store.batches() == []


def test_the_cap_limits_what_is_handed_in(server: MessagesServer, path: Path) -> None:
    run = measure(server, path, Budget(calls=6))
    assert [len(b["requests"]) for b in server.batches.values()] == [6]
    why = {o.why for row in run.arms.values() for o in row if o.reply is None}
    assert "the cap of 6 calls is reached" in why
