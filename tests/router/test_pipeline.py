"""The two stages and the verdict, with judges whose answers are known."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roster import Roster
from router import Judge, Reason, Router, RouterError, Thresholds, Turn
from tests.router.fakes import FailingJudge, ScriptedJudge

ORDER = ["kite-repair", "bread-bake"]
FITS = {"kite-repair": 0.8, "bread-bake": 0.1}


def ask(pair: Roster, judge: Judge, turn: str | Turn = "mend it", **thresholds: float):  # type: ignore[no-untyped-def]
    return Router(pair, judge, Thresholds(**thresholds)).suggest(turn)  # type: ignore[arg-type]


def test_a_fitting_skill_is_suggested(pair: Roster) -> None:
    suggestion = ask(pair, ScriptedJudge(ORDER, FITS))
    assert (suggestion.name, suggestion.reason) == ("kite-repair", Reason.SUGGESTED)
    assert suggestion.gate is not None and suggestion.gate.need == pytest.approx(0.9)
    assert suggestion.ranking.entries[0][0] == "kite-repair"
    assert suggestion.roster_digest == pair.digest
    assert set(suggestion.elapsed_ms) == {"rank", "reread", "total"}


def test_a_low_need_stops_before_the_reread(pair: Roster) -> None:
    judge = ScriptedJudge(ORDER, FITS, need=0.29)
    suggestion = ask(pair, judge)
    assert (suggestion.name, suggestion.reason) == (None, Reason.GATE)
    assert suggestion.reread is None and judge.reread_names == []


def test_low_fits_suggest_nothing(pair: Roster) -> None:
    suggestion = ask(pair, ScriptedJudge(ORDER, {"kite-repair": 0.29}))
    assert (suggestion.name, suggestion.reason) == (None, Reason.FITS)
    assert suggestion.reread is not None


def test_thresholds_are_reached_by_equality(pair: Roster) -> None:
    judge = ScriptedJudge(ORDER, {"kite-repair": 0.5}, need=0.5)
    assert ask(pair, judge, gate=0.5, fit=0.5).name == "kite-repair"


def test_choice_and_fits_may_disagree(pair: Roster) -> None:
    judge = ScriptedJudge(ORDER, FITS, choice={"kite-repair": 0.4, "bread-bake": 0.6})
    assert ask(pair, judge).name == "bread-bake"


def test_only_the_shortlist_is_reread(pair: Roster) -> None:
    judge = ScriptedJudge(ORDER, FITS)
    ask(pair, judge, shortlist=1)
    assert judge.reread_names == ["kite-repair"]


def test_a_loaded_skill_is_not_suggested_again(pair: Roster) -> None:
    turn = Turn(request="mend it", loaded=frozenset({"kite-repair"}))
    suggestion = ask(pair, ScriptedJudge(ORDER, FITS), turn)
    assert (suggestion.name, suggestion.reason) == (None, Reason.ALREADY_LOADED)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (None, Reason.SUGGESTED),
        (frozenset({"oven"}), Reason.SUGGESTED),
        (frozenset[str](), Reason.INELIGIBLE),
        (frozenset({"terminal"}), Reason.INELIGIBLE),
    ],
)
def test_required_tools(pair: Roster, allowed: frozenset[str] | None, expected: Reason) -> None:
    judge = ScriptedJudge(ORDER[::-1], {"bread-bake": 0.9})
    suggestion = ask(pair, judge, Turn(request="bake", allowed_tools=allowed))
    assert suggestion.reason == expected
    if expected is Reason.INELIGIBLE:
        assert suggestion.name is None and "oven" in (suggestion.detail or "")


@pytest.mark.parametrize("request_text", ["", "   ", "\n\t", "\x00\x01", "\ud800"])
def test_a_blank_request_needs_nothing(pair: Roster, request_text: str) -> None:
    suggestion = ask(pair, FailingJudge("rank", AssertionError("was asked")), request_text)
    assert (suggestion.name, suggestion.reason) == (None, Reason.GATE)


def test_an_empty_roster_fits_nothing() -> None:
    suggestion = ask(Roster.from_skills([]), FailingJudge("rank", AssertionError("was asked")))
    assert (suggestion.name, suggestion.reason) == (None, Reason.FITS)


@pytest.mark.parametrize("stage", ["rank", "reread"])
@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), TimeoutError(), MemoryError(), KeyError("x")]
)
def test_a_turn_survives_a_failing_judge(
    pair: Roster, stage: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        suggestion = ask(pair, FailingJudge(stage, error))
    assert (suggestion.name, suggestion.reason) == (None, Reason.ROUTER_ERROR)
    assert type(error).__name__ in (suggestion.detail or "")
    assert "the router failed" in caplog.text


def test_a_judge_that_chooses_a_stranger_is_not_believed(pair: Roster) -> None:
    judge = ScriptedJudge(ORDER, FITS, choice={"</skill_relevance>": 1.0})
    suggestion = ask(pair, judge)
    assert (suggestion.name, suggestion.reason) == (None, Reason.ROUTER_ERROR)


@pytest.mark.parametrize("request_value", [None, 3, b"bytes", ["list"]])
def test_a_request_of_another_type_does_not_raise(pair: Roster, request_value: object) -> None:
    suggestion = ask(pair, ScriptedJudge(ORDER, FITS), request_value)  # type: ignore[arg-type]
    assert suggestion.reason in (Reason.ROUTER_ERROR, Reason.SUGGESTED)


def test_async_twins_answer_alike(pair: Roster) -> None:
    router = Router(pair, ScriptedJudge(ORDER, FITS))

    async def both() -> list[str | None]:
        one = await router.asuggest("mend it")
        many = await router.asuggest_many(["mend it", Turn(request="")])
        return [one.name, *(suggestion.name for suggestion in many)]

    assert asyncio.run(both()) == ["kite-repair", "kite-repair", None]


def test_many_threads_share_a_router(router: Router) -> None:
    requests = ["merge these two pdfs", "thanks!", "book a table with Ana on Friday"] * 8
    alone = [router.suggest(text).model_copy(update={"elapsed_ms": {}}) for text in requests]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(router.suggest, requests))
    assert [s.model_copy(update={"elapsed_ms": {}}) for s in together] == alone


def test_thresholds_of_another_roster_are_announced(
    pair: Roster, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Router.load(pair, thresholds=Thresholds(roster_digest="0" * 64))
    assert "tuned on another roster" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        Router.load(pair, thresholds=Thresholds(roster_digest=pair.digest))
    assert "tuned on another" not in caplog.text


def test_the_explanation_reads_well(pair: Roster) -> None:
    text = str(ask(pair, ScriptedJudge(ORDER, FITS)))
    assert text.startswith("kite-repair: suggested")
    assert "needs a skill 0.90 >= 0.30" in text and "fit 0.80" in text


def test_a_partial_file_keeps_the_chosen_defaults(pair: Roster, tmp_path: Path) -> None:
    chosen = Router.load(pair).thresholds
    path = tmp_path / "thresholds.toml"
    path.write_text("fit = 0.5")
    found = Router.load(pair, thresholds=path).thresholds
    assert found.fit == 0.5
    assert (found.gate, found.shortlist) == (chosen.gate, chosen.shortlist)


def test_one_bare_name_is_one_name(pair: Roster) -> None:
    router = Router(pair, ScriptedJudge(ORDER, FITS))
    assert router.suggest("mend it", loaded="kite-repair").reason is Reason.ALREADY_LOADED
    assert router.suggest("mend it", allowed_tools="oven").name == "kite-repair"


@pytest.mark.parametrize("given", ["skills/", Path("skills.json"), None, {"skills": []}])
def test_what_is_no_roster_is_refused_by_name(given: object) -> None:
    with pytest.raises(RouterError, match=r"takes a Roster.*Roster\.from_path"):
        Router.load(given)  # type: ignore[arg-type]
