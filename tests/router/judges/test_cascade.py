"""Local first; the second judge only where the local one is unsure, and never instead of it."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster import Roster, Skill
from router import Gate, Ranking, Reason, Reread, Router, RouterError, Suggestion, Turn
from router.cascade import Band, Cascade
from router.cascade.doubt import COLUMNS, DECIDED, SEEN, evidence, speaks
from router.suggestion import Outcome
from tests.router.fakes import FailingJudge, ScriptedJudge
from tests.router.judges.apis import ANSWERS, ROSTER, router_at
from tests.router.judges.bands import ALWAYS, NEVER, band, logistic
from tests.router.judges.loopback import Answer, in_turn, loopback

WAYS = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
BAND = band()
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
    assert "certain enough" in str(suggestion)


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
    cascade = Cascade(second, ALWAYS)
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


def test_a_shipped_band_tells_sure_from_unsure() -> None:
    shipped = Band.load()
    assert 0 < shipped.speaks < 1 and 0 < shipped.silent < 1
    sure = Router(ROSTER, local(SURE)).suggest("Send it.")
    unsure = Router(ROSTER, local({"pdf-fill": 0.35, "mail-send": 0.3})).suggest("Send it.")
    assert shipped.read(sure).doubt < shipped.read(unsure).doubt
    assert not shipped.read(sure).uncertain
    assert shipped.read(unsure).uncertain
    nothing = Router(ROSTER, local({"pdf-fill": 0.001, "mail-send": 0.001})).suggest("Send it.")
    nearly = Router(ROSTER, local({"pdf-fill": 0.25, "mail-send": 0.01})).suggest("Send it.")
    assert shipped.read(nothing).doubt < shipped.read(nearly).doubt


def test_the_digest_of_a_band_is_of_its_numbers() -> None:
    assert BAND.digest == band().digest != band(speaks=0.4).digest
    assert BAND.model_copy(update={"learned_on": {"x": 1}}).digest == BAND.digest


def written(**changes: Any) -> str:
    return json.dumps({**json.loads(BAND.model_dump_json()), **changes})


SHORT = {"weights": [0.0], "bias": 0.0}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "cannot be read"),
        ("[]", "the file"),
        ('{"speaks": 0.5}', "silent"),
        (written(speaks=1.5), "speaks"),
        (written(silent="low"), "silent"),
        (written(extra=2), "extra"),
        (written(doubt={"columns": ["x"], "speaks": SHORT, "silent": SHORT}), "other columns"),
        (written(doubt={"speaks": SHORT, "silent": SHORT}), f"{len(COLUMNS)} weights"),
        (BAND.model_dump_json().replace("14.0", "NaN"), "doubt.speaks.bias"),
        ('{"low": 0.2, "high": 0.7}', "speaks"),
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


UNIT = st.floats(0, 1)


@settings(deadline=None)
@given(
    fits=st.dictionaries(st.sampled_from("abcd"), UNIT, max_size=4),
    weights=st.lists(UNIT, min_size=4, max_size=4),
    wide=st.lists(UNIT, max_size=12),
    gate=st.tuples(UNIT, UNIT, UNIT),
    reason=st.sampled_from(Reason),
    seen=st.sampled_from([0, 3, len(SEEN)]).flatmap(
        lambda count: st.tuples(*[st.floats(width=32)] * count)
    ),
)
def test_evidence_is_finite_and_doubt_a_probability(
    fits: dict[str, float],
    weights: list[float],
    wide: list[float],
    gate: tuple[float, float, float],
    reason: Reason,
    seen: tuple[float, ...],
) -> None:
    total = sum(weights[: len(fits)])
    choice = {name: w / total for name, w in zip(fits, weights, strict=False)} if total > 0 else {}
    keys = ("acts_on_system", "documented_procedure", "prose_suffices")
    suggestion = (
        Router(ROSTER, local(SURE))
        .suggest("Send it.")
        .model_copy(
            update={
                "ranking": Ranking(entries=tuple(zip("abcdefghijkl", wide, strict=False))),
                "gate": Gate(**dict(zip(keys, gate, strict=True))),
                "reread": Reread(choice=choice, fits=fits, evidence=seen),
                "reason": reason,
            }
        )
    )
    columns = evidence(suggestion)
    assert (columns is None) == (not fits or not wide)
    if columns is not None:
        assert len(columns) == len(COLUMNS)
        assert all(-1e3 < value < 1e3 for value in columns[: len(DECIDED)])
        told = len(seen) == len(SEEN) and all(map(math.isfinite, seen))
        assert columns[len(DECIDED) :] == seen or not told
        assert told or all(math.isnan(value) for value in columns[len(DECIDED) :])
    assert 0.0 <= Band.load().read(suggestion).doubt <= 1.0
    assert 0.0 <= BAND.read(suggestion).doubt <= 1.0


def test_a_regression_of_huge_numbers_is_still_a_probability() -> None:
    assert logistic(1e300)([0.0] * len(COLUMNS)) == 1.0
    assert logistic(-1e300)([0.0] * len(COLUMNS)) == pytest.approx(0.0)


def test_what_cannot_be_loaded_is_a_decision_that_found_a_skill() -> None:
    router = Router(ROSTER, local(SURE))
    assert speaks(router.suggest("Send it.", loaded=["pdf-fill"]))
    assert not speaks(Router(ROSTER, local({"pdf-fill": 0.01})).suggest("Send it."))


@WAYS
def test_without_evidence_nobody_is_asked(asynchronous: bool) -> None:
    second = Router(ROSTER, FailingJudge("rank", AssertionError("asked")))
    router = Router(
        ROSTER, ScriptedJudge(["pdf-fill"], {}, need=0.0), cascade=Cascade(second, ALWAYS)
    )
    escalation = suggest(router, asynchronous).escalation
    assert escalation is not None
    assert (escalation.outcome, escalation.doubt) == (Outcome.CERTAIN, 0.0)


@WAYS
def test_a_band_that_never_doubts_asks_nobody(asynchronous: bool) -> None:
    second = Router(ROSTER, FailingJudge("rank", AssertionError("asked")))
    router = Router(ROSTER, local(UNSURE), cascade=Cascade(second, NEVER))
    assert suggest(router, asynchronous).name == "pdf-fill"


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


@WAYS
@pytest.mark.parametrize("second", ["blocks", "claude"])
def test_the_turns_own_deadline_leaves_the_local_answer(second: str, asynchronous: bool) -> None:
    with loopback(in_turn(Answer({}, delay_s=3.0))) as server:
        judge = Router(ROSTER, Sleeper()) if second == "blocks" else router_at(second, server.url)
        router = Router(
            ROSTER, local(UNSURE), cascade=Cascade(judge, BAND, deadline_s=30.0), deadline_s=0.4
        )

        async def timed() -> tuple[Suggestion, float]:
            started = time.monotonic()
            if asynchronous:
                return await router.asuggest("Send it."), time.monotonic() - started
            return router.suggest("Send it."), time.monotonic() - started

        suggestion, took = asyncio.run(timed())
    assert (suggestion.name, suggestion.reason) == ("pdf-fill", Reason.SUGGESTED)
    assert took < 1.9
    assert suggestion.escalation is not None
    assert suggestion.escalation.outcome is Outcome.FAILED
    assert "timeout" in (suggestion.escalation.detail or "")


def test_a_turn_without_time_left_asks_nobody_and_pays_nothing() -> None:
    second = Router(ROSTER, FailingJudge("rank", AssertionError("asked")))
    cascade = Cascade(second, BAND, per_minute=1)
    turn = Turn(request="Send it.")
    unsure = Router(ROSTER, local(UNSURE)).suggest(turn)
    spent = cascade.settle(turn, unsure, seconds=-0.1)
    assert spent.name == "pdf-fill"
    assert spent.escalation is not None
    assert spent.escalation.outcome is Outcome.OVER_BUDGET
    assert "no time left" in str(spent)
    answered = Cascade(Router(ROSTER, local(SURE)), BAND, per_minute=1).settle(turn, unsure, 9.0)
    assert answered.escalation is not None
    assert answered.escalation.outcome is Outcome.ANSWERED


@WAYS
def test_after_the_deadline_no_further_call_starts(asynchronous: bool) -> None:
    # A malformed reply would be asked for again, but nobody waits for it any more.
    with loopback(in_turn(Answer(b"no json", delay_s=0.5))) as server:
        router = cascading(UNSURE, router_at("claude", server.url), deadline_s=0.3)
        assert suggest(router, asynchronous).name == "pdf-fill"
        time.sleep(1.2)
        assert len(server.requests) <= 1


@WAYS
def test_evidence_that_cannot_be_had_leaves_the_local_answer(asynchronous: bool) -> None:
    def broken(local: Suggestion) -> Suggestion:
        raise OSError("gone")

    turn = Turn(request="Send it.")
    unsure = Router(ROSTER, local(UNSURE)).suggest(turn)
    cascade = Cascade(Router(ROSTER, local(SURE)), BAND)
    kept = (
        asyncio.run(cascade.asettle(turn, unsure, look=broken))
        if asynchronous
        else cascade.settle(turn, unsure, look=broken)
    )
    assert kept.name == "pdf-fill"
    assert kept.escalation is not None
    assert kept.escalation.outcome is Outcome.FAILED


def test_a_closed_gate_is_reread_for_the_doubt_alone(router: Router) -> None:
    turn = Turn(request="What is the difference between a merge and a rebase?")
    suggestion = router.suggest(turn)
    assert suggestion.reason is Reason.GATE and suggestion.reread is None
    seen = router.read_anyway(turn, suggestion)
    assert seen.reread is not None and len(seen.reread.fits) == router.thresholds.shortlist
    assert evidence(seen) is not None
    second = Router(router.roster, FailingJudge("rank", AssertionError("asked")))
    final = Router(
        router.roster, router.judge, router.thresholds, cascade=Cascade(second, ALWAYS)
    ).suggest(turn)
    assert final.reread is None
    assert final.escalation is not None
    assert final.escalation.outcome is Outcome.FAILED
    assert final.escalation.doubt > 0.0


@pytest.mark.parametrize("reranker", [None, "none"])
def test_the_local_judge_tells_a_cascade_what_it_saw(reranker: str | None) -> None:
    router = Router.load(Roster.bundled(), reranker=reranker)
    suggestion = router.suggest("Turn the outline in talk.md into a slide deck.")
    assert suggestion.reread is not None
    columns = evidence(suggestion)
    assert columns is not None and all(map(math.isfinite, columns))
    assert suggestion.reread.evidence == columns[len(DECIDED) :]
    assert "evidence" not in suggestion.model_dump_json()
