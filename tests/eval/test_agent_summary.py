"""Grading and the numbers of an agent run."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from eval.agent_bench import ARMS, AgentRun, Outcome, Told, arms_told, run_agent_bench
from eval.agent_summary import summarize_agent
from eval.agents.prices import price_of
from eval.agents.protocol import AgentError, Reply, Usage
from eval.agents.scripted import ScriptedAgent
from eval.agents.store import ResultStore
from eval.bench import run_bench
from eval.data import LabelledTurn
from router import Router
from tests.eval.fakes import WordJudge, shop, shop_turns


def outcome(gold: str | None, *loaded: str, kind: str | None = None) -> Outcome:
    turn = LabelledTurn(text="t", gold=gold, kind=kind)
    return Outcome(turn=turn, told=Told(), reply=Reply(loaded=loaded), source="live")


@pytest.mark.parametrize(
    ("gold", "loaded", "verdict"),
    [
        ("jam-cook", ("jam-cook", "kite-repair"), "right"),
        ("jam-cook", ("kite-repair", "jam-cook"), "wrong"),
        ("jam-cook", ("JAM-COOK",), "wrong"),
        ("jam-cook", ("",), "wrong"),
        ("jam-cook", (), "none"),
        (None, ("jam-cook",), "needless"),
        (None, ("",), "needless"),
        (None, (), "quiet"),
    ],
)
def test_the_first_load_decides(gold: str | None, loaded: tuple[str, ...], verdict: str) -> None:
    assert outcome(gold, *loaded).verdict == verdict


def test_the_published_counts_give_the_published_rates() -> None:
    """315 covered and 173 uncovered requests; 37 fixed and 7 broken by the suggestion."""
    right, wrong = outcome("jam-cook", "jam-cook"), outcome("jam-cook", "bread-bake")
    away, none = outcome("jam-cook", "kite-repair"), outcome("jam-cook")
    quiet, needless = outcome(None), outcome(None, "jam-cook")
    baseline = [right] * 262 + [wrong] * 10 + [away] * 26 + [none] * 17
    # Of the 53 misses 37 are fixed, of the 262 hits 7 are broken.
    suggested = [right] * 255 + [wrong] * 7 + [right] * 37 + [none] * 16
    run = AgentRun(
        model="m",
        arms={
            "baseline": (*baseline, *[quiet] * 156, *[needless] * 17),
            "suggested": (*suggested, *[quiet] * 166, *[needless] * 7),
        },
        live=0,
    )
    summary = summarize_agent(run, shop())
    first, second = summary.arms["baseline"], summary.arms["suggested"]
    assert f"{first.wrong_load.value:.1%} {first.needless_load.value:.1%}" == "16.8% 9.8%"
    assert f"{second.wrong_load.value:.1%} {second.needless_load.value:.1%}" == "7.3% 4.0%"
    assert (first.wrong_other, first.same_category, first.other_category) == (36, 10, 26)
    assert first.wrong_none == 17
    pair = summary.pairs[0]
    assert (pair.wrong_load.only_second, pair.wrong_load.only_first) == (37, 7)
    assert pair.wrong_load.p == pytest.approx(5.0e-6, rel=0.3)
    assert (round(first.wrong_load.low, 3), round(first.wrong_load.high, 3)) == (0.131, 0.214)


def test_a_turn_that_one_arm_lost_is_in_no_pair() -> None:
    lost = Outcome(turn=LabelledTurn(text="t", gold="jam-cook"), told=Told(), why="gone")
    hit, miss = outcome("jam-cook", "jam-cook"), outcome("jam-cook")
    run = AgentRun(model="m", arms={"a": (lost, miss), "b": (hit, hit)}, live=0)
    summary = summarize_agent(run, shop())
    assert summary.arms["a"].unanswered == 1 and summary.unanswered == {"gone": 1}
    assert summary.arms["a"].wrong_load.total == 1
    assert summary.pairs[0].wrong_load.only_second == 1


def run_scripted(turns: list[LabelledTurn]) -> AgentRun:
    answers = run_bench(Router(shop(), WordJudge()), turns)
    with ResultStore(":memory:") as store:
        told = arms_told(ARMS, turns, answers, store, "scripted")
        return run_agent_bench(ScriptedAgent(), shop(), turns, told, store)


def test_the_scripted_agent_reads_the_block_and_nothing_of_the_label() -> None:
    turns = shop_turns()
    run = run_scripted(turns)
    wrong = [turn.model_copy(update={"gold": None}) for turn in turns]
    other = run_scripted(wrong)
    for arm in ("baseline", "suggested"):
        a = [o.loaded for o in run.arms[arm]]
        assert a == [o.loaded for o in other.arms[arm]], "labels do not change what it does"
    told = [(o.told.suggested, o.loaded) for o in run.arms["oracle"] if o.told.suggested]
    assert sum(a == b for a, b in told) >= len(told) - 1
    assert [o.loaded for o in run.arms["oracle"]] != [o.loaded for o in run.arms["baseline"]]


@pytest.mark.slow
def test_the_scripted_agent_answers_alike_in_every_process() -> None:
    code = (
        "from tests.eval.test_agent_summary import run_scripted; "
        "from tests.eval.fakes import shop_turns; "
        "print([o.loaded for r in run_scripted(shop_turns()).arms.values() for o in r])"
    )
    root = Path(__file__).parent.parent.parent
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True,
            env={"PYTHONHASHSEED": str(random.randrange(10**6)), "PYTHONPATH": str(root)},
        ).stdout
        for _ in range(2)
    }  # fmt: skip
    assert len(seen) == 1


def test_prices(tmp_path: Path) -> None:
    haiku = price_of("claude-haiku-4-5-20251001")
    assert haiku is not None and haiku.input < haiku.output
    million = Usage(input=10**6, cache_read=10**6, cache_write=10**6, output=10**6)
    whole = haiku.of(Reply(usage=million))
    assert whole == pytest.approx(haiku.input * (1 + 0.1 + 1.25) + haiku.output)
    assert haiku.of(Reply(usage=million, batch=True)) == pytest.approx(whole / 2)
    assert price_of("scripted") is None
    mine = tmp_path / "p.toml"
    mine.write_text('[m]\ninput = 1\noutput = 2\n["m-large"]\ninput = 3\noutput = 4\n')
    longest = price_of("m-large-2", mine)
    assert longest is not None and longest.input == 3.0
    for text, says in (
        ("[m]\ninput = 1", "m.output"),
        ("[m]\ninput = -1\noutput = 1", "m.input"),
        ("m = ", "not TOML"),
    ):
        mine.write_text(text)
        with pytest.raises(AgentError, match=says):
            price_of("m", mine)
    with pytest.raises(AgentError, match="cannot be read"):
        price_of("m", tmp_path / "none.toml")
