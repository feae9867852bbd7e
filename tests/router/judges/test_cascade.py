"""Local first; the second judge only where the local one is unsure, and never instead of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster import Roster, Skill
from router import Gate, Ranking, Reason, Reread, Router, RouterError, Suggestion, Turn
from router.cascade import Band, Cascade, local_score
from router.suggestion import Outcome
from tests.router.fakes import FailingJudge, ScriptedJudge
from tests.router.judges.apis import ANSWERS, ROSTER, router_at
from tests.router.judges.loopback import Answer, in_turn, loopback

WAYS = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
BAND = Band(low=0.2, high=0.7)
UNSURE = {"pdf-fill": 0.5, "mail-send": 0.05}
SURE = {"pdf-fill": 0.99}


def local(fits: dict[str, float]) -> ScriptedJudge:
    choice = {name: fit / sum(fits.values()) for name, fit in fits.items()}
    return ScriptedJudge(["pdf-fill", "mail-send", "deploy-app"], fits, choice=choice)


def cascading(fits: dict[str, float], second: Router, **changes: Any) -> Router:
    return Router(ROSTER, local(fits), cascade=Cascade(second, BAND, **changes))


def suggest(router: Router, asynchronous: bool) -> Suggestion:
    return asyncio.run(router.asuggest("Send it.")) if asynchronous else router.suggest("Send it.")


@WAYS
@pytest.mark.parametrize("judge", ["claude", "systemone"])
def test_an_unsure_turn_gets_the_second_judges_answer(judge: str, asynchronous: bool) -> None:
    with loopback(lambda data, _: Answer(ANSWERS[judge](data, "mail-send"))) as server:
        suggestion = suggest(cascading(UNSURE, router_at(judge, server.url)), asynchronous)
    assert suggestion.name == "mail-send"
    assert suggestion.escalation is not None
    assert suggestion.escalation.outcome is Outcome.ANSWERED
    assert suggestion.escalation.local_name == "pdf-fill"
    assert suggestion.usage["rank"].calls == 1
    assert "asked the second judge" in str(suggestion)


@WAYS
def test_a_sure_turn_asks_nobody(asynchronous: bool) -> None:
    with loopback(lambda data, _: Answer(ANSWERS["claude"](data, "mail-send"))) as server:
        suggestion = suggest(cascading(SURE, router_at("claude", server.url)), asynchronous)
    assert server.requests == []
    assert suggestion.name == "pdf-fill"
    assert suggestion.escalation is not None
    assert suggestion.escalation.outcome is Outcome.CERTAIN
    assert "outside the uncertain band" in str(suggestion)


FAILURES = {
    "error": Answer({"error": {"message": "no"}}, 400),
    "dropped": Answer(drop=True),
    "malformed": Answer(b"no json"),
    "slow": Answer({}, delay_s=2.0),
}


@WAYS
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_on_any_failure_the_local_answer_stands(failure: Answer, asynchronous: bool) -> None:
    with loopback(in_turn(failure)) as server:
        second = router_at("claude", server.url, max_retries=0)
        router = cascading(UNSURE, second, deadline_s=0.6)
        started = time.monotonic()
        suggestion = suggest(router, asynchronous)
        assert time.monotonic() - started < 1.8
    assert suggestion.name == "pdf-fill"
    assert suggestion.reason is Reason.SUGGESTED
    assert suggestion.escalation is not None
    assert suggestion.escalation.outcome is Outcome.FAILED
    assert "the local answer stands" in str(suggestion)


@WAYS
def test_a_proposal_that_is_refused_leaves_the_local_answer(asynchronous: bool) -> None:
    with loopback(lambda data, _: Answer(ANSWERS["claude"](data, "root-shell"))) as server:
        suggestion = suggest(cascading(UNSURE, router_at("claude", server.url)), asynchronous)
    assert suggestion.name == "pdf-fill"
    assert suggestion.escalation is not None
    assert "refused_by_policy" in (suggestion.escalation.detail or "")
    assert suggestion.usage["rank"].calls == 1


@WAYS
def test_the_budget_per_minute_is_a_sliding_window(asynchronous: bool) -> None:
    now = [0.0]
    second = Router(
        ROSTER, ScriptedJudge(["mail-send", "pdf-fill", "deploy-app"], {"mail-send": 1})
    )
    router = cascading(UNSURE, second, per_minute=2, clock=lambda: now[0])

    def outcome() -> Outcome:
        escalation = suggest(router, asynchronous).escalation
        assert escalation is not None
        return escalation.outcome

    assert [outcome() for _ in range(3)] == [
        Outcome.ANSWERED,
        Outcome.ANSWERED,
        Outcome.OVER_BUDGET,
    ]
    now[0] = 59.9
    assert outcome() is Outcome.OVER_BUDGET
    now[0] = 60.0
    assert outcome() is Outcome.ANSWERED


def test_a_failed_local_judge_asks_nobody() -> None:
    second = Router(ROSTER, FailingJudge("rank", AssertionError("asked")))
    cascade = Cascade(second, Band(low=0, high=1))
    suggestion = Router(ROSTER, FailingJudge("rank", OSError("gone")), cascade=cascade).suggest(
        "Send it."
    )
    assert suggestion.reason is Reason.ROUTER_ERROR
    assert suggestion.detail == "OSError: gone"
    assert suggestion.escalation is None


def test_no_budget_never_asks() -> None:
    second = Router(ROSTER, FailingJudge("rank", AssertionError("asked")))
    suggestion = cascading(UNSURE, second, per_minute=0).suggest("Send it.")
    assert suggestion.name == "pdf-fill"


@pytest.mark.parametrize(
    "changes", [{"deadline_s": 0}, {"deadline_s": float("inf")}, {"per_minute": -1}]
)
def test_a_wrong_setup_raises(changes: dict[str, Any]) -> None:
    with pytest.raises(RouterError):
        cascading(UNSURE, Router(ROSTER, local(SURE)), **changes)


@pytest.mark.parametrize("deadline", [0, -1, float("inf"), float("nan")])
def test_a_router_refuses_a_deadline_that_is_none(deadline: float) -> None:
    with pytest.raises(RouterError, match="deadline_s"):
        Router(ROSTER, local(SURE), deadline_s=deadline)


def test_a_shipped_band_is_there_and_in_order() -> None:
    band = Band.load()
    assert 0 <= band.low < band.high <= 1


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "cannot be read"),
        ("[]", "the file"),
        ('{"low": 0.5}', "high"),
        ('{"low": 0.9, "high": 0.1}', "low must not be above high"),
        ('{"low": NaN, "high": 1}', "low"),
        ('{"low": 0, "high": 1, "extra": 2}', "extra"),
    ],
)
def test_a_band_file_that_is_wrong_is_named(
    content: str | None, fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "band.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(RouterError, match=fault) as raised:
        Band.load(path)
    assert str(path) in str(raised.value)


@given(
    fits=st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1), max_size=4),
    weights=st.lists(st.floats(0, 1), min_size=4, max_size=4),
)
def test_the_local_score_is_a_share(fits: dict[str, float], weights: list[float]) -> None:
    total = sum(weights[: len(fits)])
    choice = {name: w / total for name, w in zip(fits, weights, strict=False)} if total > 0 else {}
    suggestion = Router(ROSTER, local(SURE)).suggest("Send it.")
    changed = suggestion.model_copy(update={"reread": Reread(choice=choice, fits=fits)})
    assert 0.0 <= local_score(changed) <= max(fits.values(), default=0.0) + 1e-9


def test_the_score_is_low_when_two_fit_alike() -> None:
    alike = Router(ROSTER, local({"pdf-fill": 0.9, "mail-send": 0.9})).suggest("Send it.")
    alone = Router(ROSTER, local({"pdf-fill": 0.9})).suggest("Send it.")
    assert local_score(alike) < 0.5 < local_score(alone)


def test_a_suggestion_with_its_escalation_survives_json() -> None:
    second = Router(ROSTER, local(SURE))
    suggestion = cascading(UNSURE, second).suggest("Send it.")
    assert Suggestion.model_validate(json.loads(suggestion.model_dump_json())) == suggestion


class Sleeper:
    """Answers too late."""

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        time.sleep(2.0)
        raise AssertionError

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        raise AssertionError


@WAYS
def test_a_second_judge_that_only_blocks_is_left_behind(asynchronous: bool) -> None:
    router = cascading(UNSURE, Router(ROSTER, Sleeper()), deadline_s=0.2)

    async def timed() -> tuple[Suggestion, float]:
        started = time.monotonic()
        found = await router.asuggest("Send it.") if asynchronous else router.suggest("Send it.")
        return found, time.monotonic() - started

    suggestion, took = asyncio.run(timed())
    assert suggestion.name == "pdf-fill"
    assert took < 1.5
