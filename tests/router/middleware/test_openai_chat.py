"""Chat messages in OpenAI's form."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from roster import Roster
from router import Reason, Router, suggestion_block
from router.middleware.openai_chat import ChatRouter
from tests.router.fakes import FailingJudge

KITE = suggestion_block("kite-repair")


def m(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def load(name: str, call_id: str = "c") -> dict[str, Any]:
    function = {"name": "load_skill", "arguments": json.dumps({"name": name})}
    return m("assistant", None, tool_calls=[{"id": call_id, "function": function}])


@pytest.mark.parametrize(
    ("before", "place", "role"),
    [
        ([], 0, "system"),
        ([m("system", "index")], 1, "system"),
        ([m("developer", "index"), m("developer", "more")], 2, "developer"),
    ],
)
def test_the_block_is_a_message_behind_the_system_messages(
    asked: Router, before: list[Any], place: int, role: str
) -> None:
    given = {"model": "m", "messages": [*before, m("user", "mend my kite")]}
    kept = copy.deepcopy(given)
    after = ChatRouter(asked).prepare(given)
    assert given == kept
    assert after["messages"].pop(place) == m(role, KITE.strip("\n"))
    assert after == kept


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("mend my kite", f"mend my kite{KITE}"),
        (
            [{"type": "text", "text": "kite"}, {"type": "image_url", "image_url": {"url": "x"}}],
            [
                {"type": "text", "text": "kite"},
                {"type": "image_url", "image_url": {"url": "x"}},
                {"type": "text", "text": KITE},
            ],
        ),
    ],
)
def test_the_block_ends_the_newest_message(asked: Router, content: Any, expected: Any) -> None:
    router = ChatRouter(asked, placement="turn")
    first = router.prepare({"messages": [m("user", content)]})
    assert first["messages"] == [m("user", expected)]
    history = [m("user", content), m("assistant", "ok"), m("user", "hello")]
    assert router.prepare({"messages": history})["messages"][0] == m("user", expected)


def test_a_tool_loop_asks_nothing_and_sends_the_same_again(asked: Router) -> None:
    router = ChatRouter(asked)
    first = router.prepare({"messages": [m("system", "s"), m("user", "mend my kite")]})
    loop = [load("kite-repair"), m("tool", "steps", tool_call_id="c")]
    second = router.prepare({"messages": [m("system", "s"), m("user", "mend my kite"), *loop]})
    assert second["messages"] == [*first["messages"], *loop]
    assert len(asked.judge.turns) == 1  # type: ignore[attr-defined]


def test_a_loaded_skill_is_not_suggested_again(asked: Router) -> None:
    history = [m("user", "x"), load("kite-repair"), m("tool", "steps", tool_call_id="c")]
    given = {"messages": [*history, m("assistant", "ok"), m("user", "the kite")]}
    router = ChatRouter(asked)
    assert router.prepare(given) == given
    assert router.last is not None and router.last.reason is Reason.ALREADY_LOADED


def test_tools_of_the_request_limit_what_is_suggested(asked: Router) -> None:
    router = ChatRouter(asked)
    tools = [{"type": "function", "function": {"name": "terminal"}}]
    router.prepare({"messages": [m("user", "bake bread")], "tools": tools})
    assert router.last is not None and router.last.reason is Reason.INELIGIBLE


@pytest.mark.anyio
@pytest.mark.parametrize("messages", [None, "x", [None], [{}], [m("user", 7)], [m("user", None)]])
async def test_malformed_messages_go_on_as_they_are(asked: Router, messages: Any) -> None:
    router = ChatRouter(asked)
    assert router.prepare({"messages": messages}) == {"messages": messages}
    assert await router.aprepare({"messages": messages}) == {"messages": messages}


def test_a_failing_router_changes_nothing(pair: Roster) -> None:
    given = {"messages": [m("user", "mend my kite")]}
    broken = Router(pair, FailingJudge("rank", RuntimeError("no")))
    assert ChatRouter(broken).prepare(given) == given
