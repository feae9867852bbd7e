"""LangChain 1.x and deepagents: an `AgentMiddleware`, and `load_skill` as a LangChain tool."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException, tool

from roster.disclosure import DisclosureCaps
from roster.load_skill import TOOL_DESCRIPTION, TOOL_NAME, LoadSkill
from roster.registry import SkillRegistry
from router.block import BlockTemplate
from router.middleware.conversation import Message, fingerprint, skill_named, without_block
from router.middleware.planner import Placement, Plan, Suggests, TurnPlanner
from router.middleware.session import LoadedSessions, TurnMemory
from router.suggestion import Suggestion

_log = logging.getLogger(__name__)
Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class SkillRouterMiddleware(AgentMiddleware[Any, Any, Any]):
    """Puts the suggestion into every model call of an agent; its state stays as it was.

    Args:
        router: Whom to ask.
        placement: "system" sends the block behind the system message; "turn" at the end of the
            newest human message, and the earlier ones where they were.
        template: Another wording of the block.
        memory: What was said on earlier turns.
        timeout_s: Seconds after which a turn goes on without the router; None waits.
        allowed_tools: Tools the agent may use; by default those of the model call.
        tools: Tools that come with the middleware, such as `load_skill_tool`.
    """

    def __init__(
        self,
        router: Suggests,
        *,
        placement: Placement = "system",
        template: BlockTemplate | None = None,
        memory: TurnMemory | None = None,
        timeout_s: float | None = 2.0,
        allowed_tools: Iterable[str] | None = None,
        tools: Sequence[BaseTool] = (),
    ) -> None:
        super().__init__()
        self.planner = TurnPlanner(router, placement, template, memory, timeout_s)
        self.allowed_tools = None if allowed_tools is None else frozenset(allowed_tools)
        self.tools = list(tools)
        self.last: Suggestion | None = None

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model with the suggestion."""
        return handler(self._prepared(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: AsyncHandler
    ) -> ModelResponse[Any]:
        """Call the model with the suggestion, without blocking the event loop."""
        try:
            messages = [_read(message) for message in request.messages]
            plan = await self.planner.aplan(messages, self._tools(request))
            prepared = self._placed(request, plan)
        except Exception:
            _log.exception("the model call goes on without a suggestion")
            prepared = request
        return await handler(prepared)

    def _prepared(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        try:
            messages = [_read(message) for message in request.messages]
            return self._placed(request, self.planner.plan(messages, self._tools(request)))
        except Exception:
            _log.exception("the model call goes on without a suggestion")
            return request

    def _tools(self, request: ModelRequest[Any]) -> frozenset[str] | None:
        if self.allowed_tools is not None:
            return self.allowed_tools
        names = (_tool_name(each) for each in request.tools or ())
        return frozenset(name for name in names if isinstance(name, str)) or None

    def _placed(self, request: ModelRequest[Any], plan: Plan) -> ModelRequest[Any]:
        if plan.suggestion is not None:
            self.last = plan.suggestion
        if self.planner.placement == "turn":
            if not plan.by_message:
                return request
            messages: list[AnyMessage] = list(request.messages)
            for index, block in plan.by_message.items():
                messages[index] = _with_block(messages[index], block)
            return request.override(messages=messages)
        if not plan.block:
            return request
        return request.override(system_message=_system(request.system_message, plan.block))


def load_skill_tool(
    registry: SkillRegistry,
    *,
    active: Iterable[str],
    tools: Iterable[str] = (),
    sessions: LoadedSessions | None = None,
    caps: DisclosureCaps | None = None,
) -> BaseTool:
    """`load_skill` as a LangChain tool. The session is the thread of the run (``thread_id``).

    Args:
        registry: The host's skills.
        active: Names of the skills that are active.
        tools: Names of the tools the agent has.
        sessions: What each thread has loaded; by default kept in the tool.
        caps: Limits.

    Returns:
        The tool. A refusal is a `ToolMessage` with status "error"; without a thread every call is
        refused.
    """
    kept = sessions if sessions is not None else LoadedSessions()
    active, tools = frozenset(active), frozenset(tools)

    @tool(TOOL_NAME, description=TOOL_DESCRIPTION)
    def load_skill(name: str, config: RunnableConfig) -> str:
        thread = (config.get("configurable") or {}).get("thread_id")
        loaded = kept.of(None if thread is None else str(thread))
        result = LoadSkill(registry, active=active, tools=tools, loaded=loaded, caps=caps)(name)
        if not result.ok:
            raise ToolException(result.text)
        return result.text

    load_skill.handle_tool_error = True
    return load_skill


def _read(message: BaseMessage) -> Message:
    content = message.content
    texts = [content] if isinstance(content, str) else _texts(content)
    text, has_block = without_block("\n".join(texts))
    calls: dict[str, str] = {}
    failed: frozenset[str] = frozenset()
    called: list[Any] = []
    role: Any = {"human": "user", "ai": "assistant", "tool": "tool"}.get(message.type, "system")
    if isinstance(message, AIMessage):
        called = [[c.get("id"), c["name"], c["args"]] for c in message.tool_calls]
        for call in message.tool_calls:
            name = skill_named(call["name"], call["args"])
            if name is not None:
                calls[str(call.get("id"))] = name
    elif isinstance(message, ToolMessage):
        called = [message.tool_call_id]
        failed = frozenset([message.tool_call_id] if message.status == "error" else [])
    digest = fingerprint([message.type, content, called])
    return Message(role, text, digest, has_block, calls, failed)


def _texts(content: Sequence[Any]) -> list[str]:
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
    return texts


def _with_block(message: AnyMessage, block: str) -> AnyMessage:
    content = message.content
    before: list[Any] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    )
    added = [*before, {"type": "text", "text": block}]
    return message.model_copy(update={"content": added})


def _system(message: SystemMessage | None, block: str) -> SystemMessage:
    if message is None:
        return SystemMessage(content=[{"type": "text", "text": block}])
    return _with_block(message, block)  # type: ignore[return-value]  # a copy of the same class


def _tool_name(each: Any) -> object:
    if not isinstance(each, dict):
        return getattr(each, "name", None)
    return each.get("name") or (each.get("function") or {}).get("name")
