"""The store of paid answers, and the import of published runs."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.agent_bench import arms_told, run_agent_bench
from eval.agent_summary import summarize_agent
from eval.agents.json_cache import read_json_cache
from eval.agents.prompt import agent_request, system_prompt
from eval.agents.protocol import AgentError, Reply, Usage
from eval.agents.replay import ReplayAgent
from eval.agents.store import ResultStore, StoreError
from eval.data import LabelledTurn
from router import suggestion_block
from tests.eval.fakes import shop, shop_turns

MODEL = "claude-haiku-4-5-20251001"


def test_an_answer_is_there_after_the_file_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "s.sqlite"
    reply = Reply(loaded=("a", ""), calls=("skill_view", ""), usage=Usage(output=3), latency_ms=1.5)
    with ResultStore(path) as store:
        store.put("d" * 64, MODEL, reply)
        store.put("d" * 64, MODEL, Reply())
        assert store.get("e" * 64) is None
    with ResultStore(path) as store:
        assert store.get("d" * 64) == reply, "the first answer stays"
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_many_threads_write_at_once(tmp_path: Path) -> None:
    with ResultStore(tmp_path / "s.sqlite") as store:

        def work(number: int) -> None:
            for each in range(20):
                store.started(f"{number}-{each}")
                store.put(f"{number}-{each}", MODEL, Reply(loaded=(str(each),)))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [store.get(f"{n}-{e}") for n in range(4) for e in range(20)]
        assert all(found) and store.interrupted() == 0


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with ResultStore(path), pytest.raises(StoreError, match="another run is using it"):
        ResultStore(path)
    ResultStore(path).close()


def _newer(path: Path) -> None:
    ResultStore(path).close()
    sqlite3.connect(path).execute("PRAGMA user_version = 99").connection.close()


def _foreign(path: Path) -> None:
    sqlite3.connect(path).execute("CREATE TABLE notes (text)").connection.close()


def _damaged(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4000)


def _damaged_answer(path: Path) -> None:
    with ResultStore(path) as store:
        store.put("d", MODEL, Reply())
    db = sqlite3.connect(path)
    db.execute("UPDATE answers SET reply = '{'")
    db.commit()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_newer, "newer version"),
        (_foreign, "another program's database"),
        (_damaged, "cannot be used as a store"),
        (lambda path: path.write_text("a shopping list " * 300), "cannot be used as a store"),
        (lambda path: path.mkdir(), "cannot be used as a store"),
        (_damaged_answer, "holds an answer that is damaged"),
    ],
    ids=["newer", "foreign", "damaged", "text", "folder", "answer"],
)
def test_a_file_that_is_no_store_is_refused_and_kept(tmp_path: Path, make: Any, says: str) -> None:
    path = tmp_path / "s.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=says) as caught, ResultStore(path) as store:
        store.get("d")
    assert str(path) in str(caught.value)
    assert before is None or path.read_bytes() == before


texts = st.text(max_size=40)


@given(a=st.tuples(texts, texts, texts, texts), b=st.tuples(texts, texts, texts, texts))
def test_equal_digests_mean_equal_requests(a: tuple[str, ...], b: tuple[str, ...]) -> None:
    def digest(parts: tuple[str, ...]) -> str:
        turn = LabelledTurn(text=parts[0], recent_context=(parts[3],))
        return agent_request(MODEL, parts[1], turn, parts[2]).digest

    assert digest(a) == digest(a)
    if a != b and "\x00" not in "".join(a + b):
        assert digest(a) != digest(b)


def test_everything_that_is_sent_counts() -> None:
    turn, system = shop_turns()[0], system_prompt(shop())
    digests = [
        agent_request(MODEL, system, turn, "").digest,
        agent_request("other", system, turn, "").digest,
        agent_request(MODEL, system + " ", turn, "").digest,
        agent_request(MODEL, system, shop_turns()[1], "").digest,
        agent_request(MODEL, system, turn, suggestion_block(None)).digest,
        agent_request(MODEL, system, turn, "", "http://127.0.0.1:1").digest,
    ]
    assert len(set(digests)) == len(digests)
    # The label is not sent.
    assert (
        agent_request(MODEL, system, turn.model_copy(update={"gold": None}), "").digest
        == (digests[0])
    )


def published(path: Path, whole: bool = True) -> None:
    """A run as it was published: its own suggestions, in an arm with a name of its own."""
    entries: dict[str, Any] = {"rank_wide|What is a monad?": {"ranked": []}}
    for number, turn in enumerate(shop_turns()):
        hosted = "jam-cook" if number % 3 == 0 else None
        blocks = {
            "baseline": "",
            "Hosted": suggestion_block(hosted),
            "oracle": suggestion_block(turn.gold),
        }
        for arm, block in blocks.items():
            key = "|".join(("run_turn", MODEL, arm, turn.text, block))
            if len(key) > 200:
                key = hashlib.sha256(key.encode()).hexdigest()
            loaded = {"baseline": ["bread-bake"], "oracle": [turn.gold] if turn.gold else []}
            entries[key] = {
                "loaded": loaded.get(arm, [hosted] if hosted else []),
                "input_tokens": 40, "output_tokens": 9,
            }  # fmt: skip
    if not whole:
        entries = dict(list(entries.items())[:-1])
    path.write_text(json.dumps(entries))


def test_a_published_run_replays(tmp_path: Path) -> None:
    path = tmp_path / "json_cache.json"
    published(path)
    arms = ("baseline", "Hosted", "oracle")
    rows = read_json_cache(path, MODEL, arms, shop_turns(), shop())
    assert len(rows) == 36
    with ResultStore(":memory:") as store:
        store.add_recorded(rows)
        told = arms_told(arms, shop_turns(), None, store, MODEL)
        agent = ReplayAgent(MODEL)
        run = run_agent_bench(agent, shop(), shop_turns(), told, store, published=True)
    assert run.live == 0
    assert {o.source for row in run.arms.values() for o in row} == {"published"}
    summary = summarize_agent(run, shop())
    baseline = summary.arms["baseline"]
    assert (baseline.wrong_load.count, baseline.needless_load.count) == (5, 5)
    assert (baseline.same_category, baseline.other_category) == (2, 3)
    assert summary.arms["oracle"].wrong_load.count == 0
    hosted = summary.arms["Hosted"]
    # Every third turn was told jam-cook: numbers 0, 3, 6, then 9; only number 6 wants it.
    assert hosted.told == {"right": 1, "wrong": 2, "silent": 4, "needless": 1, "quiet": 4}
    assert hosted.followed["right"].right == 1
    assert hosted.usage.input == 12 * 40


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "not a JSON object"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"a": 1}', "none of its 1 entries"),
        (json.dumps({f"run_turn|{MODEL}|baseline|What is a monad?|": {"x": 1}}), "not a result"),
        (json.dumps({f"run_turn|{MODEL}|baseline|What is a monad?|": {"loaded": [1]}}), "names"),
        (
            json.dumps(
                {
                    f"run_turn|{MODEL}|baseline|What is a monad?|": {
                        "loaded": [],
                        "input_tokens": -1,
                    }
                }
            ),
            "not a result",
        ),
    ],
)
def test_a_file_that_holds_no_such_run_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "json_cache.json"
    path.write_text(text)
    with pytest.raises(AgentError, match=says) as caught:
        read_json_cache(path, MODEL, ("baseline",), shop_turns(), shop())
    assert str(path) in str(caught.value)


def test_text_that_no_file_can_hold_is_replaced(tmp_path: Path) -> None:
    path, turn = tmp_path / "json_cache.json", LabelledTurn(text="a\ud800", gold=None)
    path.write_text(json.dumps({f"run_turn|{MODEL}|baseline|a\ud800|": {"loaded": ["\udfff"]}}))
    rows = read_json_cache(path, MODEL, ("baseline",), [turn], shop())
    with ResultStore(tmp_path / "s.sqlite") as store:
        store.add_recorded(rows)
        told = arms_told(("baseline",), [turn], None, store, MODEL)
        run = run_agent_bench(ReplayAgent(MODEL), shop(), [turn], told, store, published=True)
    assert run.arms["baseline"][0].loaded == "\ufffd"


def test_an_arm_nobody_ran_is_refused() -> None:
    with ResultStore(":memory:") as store:
        with pytest.raises(AgentError, match="there is no arm 'Hosted': the arms are baseline"):
            arms_told(("Hosted",), shop_turns(), None, store, MODEL)
        run = run_agent_bench(
            ReplayAgent(MODEL), shop(), shop_turns(),
            arms_told(("baseline",), shop_turns(), None, store, MODEL), store,
        )  # fmt: skip
    assert {outcome.why for outcome in run.arms["baseline"]} == {"it is not in the store"}
