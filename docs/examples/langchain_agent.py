"""A LangChain agent with the router and `load_skill`; a scripted model stands in for a real one."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from roster import Roster
from roster.registry import SkillRegistry
from router import Router
from router.middleware.langchain import SkillRouterMiddleware, load_skill_tool


class Scripted(GenericFakeChatModel):
    """Shows what it is sent and answers from a script."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """Take any tools."""
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        print("the model reads:", messages[0].content[-1]["text"].strip().splitlines()[1])
        return super()._generate(messages, *args, **kwargs)


roster = Roster.bundled()
load_skill = load_skill_tool(SkillRegistry(roster), active=roster.names)
call = {"name": "load_skill", "args": {"name": "pptx-author"}, "id": "c1"}
model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Here is the deck.")]))

agent = create_agent(
    model,
    system_prompt=f"<available_skills>\n{roster.prompt()}\n</available_skills>",
    middleware=[SkillRouterMiddleware(Router.load(roster), tools=[load_skill])],
    checkpointer=InMemorySaver(),
)
state = agent.invoke(
    {"messages": [HumanMessage("Turn the outline in talk.md into a new slide deck.")]},
    {"configurable": {"thread_id": "1"}},
)
for message in state["messages"]:
    print(f"{message.type}:", (message.text or "(calls load_skill)").splitlines()[0])
