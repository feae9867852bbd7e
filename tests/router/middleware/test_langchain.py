"""Agents of LangChain and deepagents with a scripted chat model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from roster import Roster
from roster.registry import SkillRegistry
from router import Reason, Router, suggestion_block
from router.middleware.langchain import SkillRouterMiddleware, load_skill_tool
from router.middleware.session import LoadedSessions
from tests.router.fakes import FailingJudge

KITE = {"type": "text", "text": suggestion_block("kite-repair")}


class Scripted(GenericFakeChatModel):
    """Answers from a script and keeps what it was sent."""

    seen: list[list[Any]] = []  # noqa: RUF012 - a field of a pydantic model

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def scripted(*answers: Any) -> Scripted:
    def script() -> Iterator[AIMessage]:
        for answer in answers:
            yield answer if isinstance(answer, AIMessage) else AIMessage(answer)

    return Scripted(messages=script(), seen=[])


def call(name: str, /, **given: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": given, "id": f"c-{name}"}])


@tool
def oven(degrees: int) -> str:
    """Heat the oven."""
    return f"{degrees} degrees"


def human(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def test_the_block_follows_the_system_message_through_the_tool_loop(asked: Router) -> None:
    model = scripted(call("oven", degrees=200), "done")
    middleware = SkillRouterMiddleware(asked)
    agent = create_agent(model, [oven], system_prompt="You help.", middleware=[middleware])
    state = agent.invoke(human("bake bread"))
    bread = {"type": "text", "text": suggestion_block("bread-bake")}
    expected = [{"type": "text", "text": "You help."}, bread]
    assert [seen[0].content for seen in model.seen] == [expected, expected]
    assert len(asked.judge.turns) == 1  # type: ignore[attr-defined]
    assert asked.judge.turns[0].allowed_tools == {"oven"}  # type: ignore[attr-defined]
    # The agent's own conversation never holds a block.
    assert "skill_relevance" not in str(state["messages"])


@pytest.mark.anyio
async def test_asynchronous_agents_send_earlier_blocks_again(asked: Router) -> None:
    model = scripted("one", "two")
    middleware = SkillRouterMiddleware(asked, placement="turn")
    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    await agent.ainvoke(human("mend my kite"), config)
    await agent.ainvoke(human("hello"), config)
    first, second = model.seen
    assert first[0].content == [{"type": "text", "text": "mend my kite"}, KITE]
    assert second[0].content == first[0].content
    assert second[2].content[0] == {"type": "text", "text": "hello"}


def test_without_a_system_message_the_block_is_one(asked: Router) -> None:
    model = scripted("ok")
    create_agent(model, middleware=[SkillRouterMiddleware(asked)]).invoke(human("mend my kite"))
    assert isinstance(model.seen[0][0], SystemMessage) and model.seen[0][0].content == [KITE]


def test_a_cached_system_message_keeps_its_blocks(asked: Router) -> None:
    cached = {"type": "text", "text": "index", "cache_control": {"type": "ephemeral"}}
    model = scripted("ok")
    agent = create_agent(
        model,
        system_prompt=SystemMessage(content=[cached]),
        middleware=[SkillRouterMiddleware(asked)],
    )
    agent.invoke(human("mend my kite"))
    assert model.seen[0][0].content == [cached, KITE]


def test_a_failing_router_leaves_the_call_alone(pair: Roster) -> None:
    model = scripted("ok")
    broken = Router(pair, FailingJudge("rank", RuntimeError("no")))
    agent = create_agent(
        model, system_prompt="You help.", middleware=[SkillRouterMiddleware(broken)]
    )
    agent.invoke(human("mend my kite"))
    assert [m.content for m in model.seen[0]] == ["You help.", "mend my kite"]


def test_a_skill_is_loaded_once_a_thread_and_then_not_suggested(asked: Router) -> None:
    sessions = LoadedSessions()
    load = load_skill_tool(
        SkillRegistry(asked.roster),
        active=["kite-repair", "bread-bake"],
        tools=["load_skill"],
        sessions=sessions,
    )
    model = scripted(
        call("load_skill", name="kite-repair"),
        "mended",
        call("load_skill", name="kite-repair"),
        "again",
        call("load_skill", name="bread-bake"),
        "no",
    )
    middleware = SkillRouterMiddleware(asked, tools=[load])
    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    state = agent.invoke(human("mend my kite"), config)
    answer = state["messages"][-2]
    assert isinstance(answer, ToolMessage) and answer.status == "success"
    assert answer.content == f"Skill kite-repair:\n{asked.roster['kite-repair'].body}"
    twice = agent.invoke(human("the kite again"), config)["messages"][-2]
    assert twice.status == "error" and "loaded already" in twice.content
    assert middleware.last is not None and middleware.last.reason is Reason.ALREADY_LOADED
    missing = agent.invoke(human("hm"), config)["messages"][-2]
    assert missing.status == "error" and "oven" in missing.content
    loaded = sessions.of("t")
    assert loaded is not None and loaded.names == ("kite-repair",)


def test_without_a_thread_nothing_is_loaded(asked: Router) -> None:
    load = load_skill_tool(SkillRegistry(asked.roster), active=["kite-repair"])
    model = scripted(call("load_skill", name="kite-repair"), "no")
    state = create_agent(model, [load]).invoke(human("x"))
    assert state["messages"][-2].status == "error"
    assert "no session" in state["messages"][-2].content


def test_deepagents_take_the_middleware(asked: Router) -> None:
    model = scripted("ok")
    agent = create_deep_agent(
        model=model, system_prompt="You help.", middleware=[SkillRouterMiddleware(asked)]
    )
    agent.invoke(human("mend my kite"))
    assert model.seen[0][0].content[-1] == KITE
    assert "You help." in str(model.seen[0][0].content)
