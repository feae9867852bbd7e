"""Requests of the Messages API before and after the router."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster import Roster
from roster.loaded import LoadedSkillSet
from router import BlockTemplate, Reason, Router, suggestion_block
from router.middleware.anthropic_messages import MessagesRouter
from tests.router.fakes import FailingJudge
from tests.router.middleware.keywords import keyword_router

KITE = suggestion_block("kite-repair")
SILENT = suggestion_block(None)
INDEX = {"type": "text", "text": "index", "cache_control": {"type": "ephemeral"}}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def says(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def call(name: str, skill: str, call_id: str = "c1") -> dict[str, Any]:
    return says([{"type": "tool_use", "id": call_id, "name": name, "input": {"name": skill}}])


def result(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "steps", **more}


def params(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": list(messages), **more}


def text(block: str) -> dict[str, str]:
    return {"type": "text", "text": block}


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (None, [text(KITE)]),
        ("You help.", [text("You help."), text(KITE)]),
        ("", [text(KITE)]),
        ([INDEX], [INDEX, text(KITE)]),
        ([], [text(KITE)]),
    ],
)
def test_the_block_goes_behind_the_system_prompt(
    asked: Router, system: Any, expected: list[Any]
) -> None:
    given = params(user("mend my kite"))
    if system is not None:
        given["system"] = system
    before = copy.deepcopy(given)
    after = MessagesRouter(asked).prepare(given)
    assert given == before
    assert after == {**before, "system": expected}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("mend my kite", [text("mend my kite"), text(KITE)]),
        ([{**text("mend my kite"), "cache_control": {"type": "ephemeral"}}], None),
    ],
)
def test_the_block_goes_behind_the_newest_message(
    asked: Router, content: Any, expected: list[Any] | None
) -> None:
    given = params(user(content), system=[INDEX], tools=[{"name": "oven"}])
    after = MessagesRouter(asked, placement="turn").prepare(given)
    assert after == {**given, "messages": [user(expected or [*content, text(KITE)])]}


def test_breakpoints_and_tools_stay_however_many_there_are(asked: Router) -> None:
    marked = [{**INDEX, "text": str(i)} for i in range(5)]
    tools = [{"name": "oven", "cache_control": {"type": "ephemeral"}}]
    given = params(user("mend my kite"), system=marked, tools=tools)
    after = MessagesRouter(asked).prepare(given)
    assert after["system"][:5] == marked and after["tools"] is tools
    assert "cache_control" not in after["system"][5]


def test_earlier_blocks_are_sent_again_as_they_were(asked: Router) -> None:
    router = MessagesRouter(asked, placement="turn")
    history: list[Any] = []
    sent: list[Any] = []
    for request in ("mend my kite", "hello", "bake bread", "hello again"):
        history.append(user(request))
        after = router.prepare(params(*history))["messages"]
        assert after[: len(sent)] == sent
        sent = after
        history.append(says("done"))
        sent = [*after, says("done")]
    assert len(asked.judge.turns) == 4  # type: ignore[attr-defined]


def test_results_of_tools_ask_nothing_and_keep_the_turn_as_it_was(asked: Router) -> None:
    for placement in ("system", "turn"):
        router = MessagesRouter(asked, placement=placement)  # type: ignore[arg-type]
        first = router.prepare(params(user("mend my kite"), system=[INDEX]))
        turns = len(asked.judge.turns)  # type: ignore[attr-defined]
        loop = [user("mend my kite"), call("terminal", "x"), user([result()])]
        second = router.prepare(params(*loop, system=[INDEX]))
        assert len(asked.judge.turns) == turns  # type: ignore[attr-defined]
        assert second["system"] == first["system"]
        assert second["messages"][0] == first["messages"][0]
        assert second["messages"][1:] == loop[1:]


@pytest.mark.parametrize(
    "newest",
    [
        [result()],
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}],
        [{"type": "document", "source": {"type": "text", "data": "kite"}}],
        "",
        "   ",
        [],
    ],
)
def test_without_new_words_nothing_is_asked_or_said(asked: Router, newest: Any) -> None:
    for placement in ("system", "turn"):
        given = params(user("x"), call("terminal", "y"), user(newest), system="s")
        router = MessagesRouter(asked, placement=placement)  # type: ignore[arg-type]
        assert router.prepare(given) == given
    assert asked.judge.turns == []  # type: ignore[attr-defined]


def test_words_beside_results_are_a_new_turn(asked: Router) -> None:
    given = params(user("x"), call("terminal", "y"), user([result(), text("now my kite")]))
    after = MessagesRouter(asked, placement="turn").prepare(given)
    assert after["messages"][2]["content"] == [result(), text("now my kite"), text(KITE)]


def test_a_prefilled_answer_is_no_obstacle(asked: Router) -> None:
    after = MessagesRouter(asked).prepare(params(user("mend my kite"), says("Sure")))
    assert after["system"] == [text(KITE)]


def test_a_request_that_was_prepared_already_gets_no_second_block(asked: Router) -> None:
    router = MessagesRouter(asked, placement="turn")
    once = router.prepare(params(user("mend my kite")))
    assert router.prepare(once) == once


def test_recent_context_tools_and_loads_reach_the_router(asked: Router) -> None:
    given = params(
        user([text("first words")]),
        call("load_skill", "kite-repair"),
        user([result()]),
        call("skill_view", "bread-bake", "c2"),
        user([result("c2", is_error=True)]),
        says("done"),
        user("and my kite?"),
        tools=[{"name": "load_skill"}, {"name": "oven"}],
    )
    router = MessagesRouter(asked)
    assert router.prepare(given) == given  # loaded already: nothing is said
    (turn,) = asked.judge.turns  # type: ignore[attr-defined]
    assert turn.request == "and my kite?" and turn.recent_context == ("first words", "done")
    assert turn.allowed_tools == {"load_skill", "oven"} and turn.loaded == {"kite-repair"}
    assert router.last is not None and router.last.reason is Reason.ALREADY_LOADED


def test_a_session_that_loaded_a_skill_elsewhere_is_sticky(asked: Router) -> None:
    loaded = LoadedSkillSet()
    router = MessagesRouter(asked, loaded=loaded)
    assert router.prepare(params(user("mend my kite")))["system"] == [text(KITE)]
    loaded.add("kite-repair")
    follow_up = params(user("mend my kite"), says("done"), user("the kite again"))
    assert router.prepare(follow_up) == follow_up


def test_a_skill_whose_tool_is_not_in_the_request_is_not_suggested(asked: Router) -> None:
    router = MessagesRouter(asked)
    given = params(user("bake bread"), tools=[{"name": "terminal"}])
    assert router.prepare(given)["system"] == [text(SILENT)]
    assert router.last is not None and router.last.reason is Reason.INELIGIBLE
    assert router.last.detail is not None and "oven" in router.last.detail


def test_an_empty_silent_form_sends_nothing(asked: Router) -> None:
    router = MessagesRouter(asked, template=BlockTemplate(silent=""))
    given = params(user("hello"))
    assert router.prepare(given) == given


@pytest.mark.parametrize("stage", ["rank", "reread"])
def test_a_failing_judge_changes_nothing(pair: Roster, stage: str) -> None:
    given = params(user("mend my kite"), system=[INDEX])
    broken = Router(pair, FailingJudge(stage, RuntimeError("no")))
    assert MessagesRouter(broken).prepare(given) == given


def test_a_slow_router_is_left_behind_and_the_turn_stays_as_it_was_sent(pair: Roster) -> None:
    slow = keyword_router(pair, {"kite": "kite-repair"}, delay_s=0.4)
    router = MessagesRouter(slow, placement="turn", timeout_s=0.05)
    given = params(user("mend my kite"))
    assert router.prepare(given) == given
    later = params(user("mend my kite"), says("ok"), user("hi"))
    assert router.prepare(later)["messages"][0] == user("mend my kite")


@pytest.mark.anyio
@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"messages": None},
        {"messages": "mend my kite"},
        {"messages": [None]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": 7}]},
        {"messages": [{"role": "user", "content": [None, {"type": "text"}]}]},
        {"messages": [{"role": "user", "content": "kite"}], "tools": 7, "system": 7},
    ],
)
async def test_malformed_parameters_reach_the_provider_as_they_are(
    asked: Router, broken: dict[str, Any]
) -> None:
    for placement in ("system", "turn"):
        router = MessagesRouter(asked, placement=placement)  # type: ignore[arg-type]
        for after in (router.prepare(broken), await router.aprepare(broken)):
            assert {k: v for k, v in after.items() if k not in ("system", "messages")} == {
                k: v for k, v in broken.items() if k not in ("system", "messages")
            }


def test_a_wrong_setup_raises_at_once(asked: Router) -> None:
    with pytest.raises(ValueError, match="placement is system or turn"):
        MessagesRouter(asked, placement="top")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout_s"):
        MessagesRouter(asked, timeout_s=0)
    with pytest.raises(TypeError, match="with_middleware"):
        MessagesRouter(asked).wrap(object())  # type: ignore[type-var]


_blocks = st.lists(
    st.one_of(
        st.builds(text, st.text(max_size=20)),
        st.just(result()),
        st.just({**text("kite"), "cache_control": {"type": "ephemeral"}}),
    ),
    max_size=3,
)
_messages = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant"]),
        st.one_of(st.text(max_size=20), _blocks),
    ),
    max_size=6,
)


@given(messages=_messages, placement=st.sampled_from(["system", "turn"]))
def test_taking_the_added_block_away_gives_the_request_back(
    messages: list[Any], placement: Any
) -> None:
    from roster import Skill

    roster = Roster.from_skills([Skill(name="kite-repair", description="Mend kites.")])
    router = MessagesRouter(keyword_router(roster, {"kite": "kite-repair"}), placement=placement)
    given = params(*messages, system=[INDEX])
    before = copy.deepcopy(given)
    after = router.prepare(given)
    assert given == before
    if placement == "system":
        assert after["messages"] == before["messages"] and after["system"][0] == INDEX
        assert len(after["system"]) <= 2
        return
    assert after["system"] == before["system"]
    for old, new in zip(before["messages"], after["messages"], strict=True):
        if new != old:
            plain = [text(old["content"])] if isinstance(old["content"], str) else old["content"]
            assert new["content"][:-1] == plain
            assert new["content"][-1] in (text(KITE), text(SILENT))
