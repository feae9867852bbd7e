"""Chat messages in OpenAI's form: a list of dicts with ``role`` and ``content``."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from router.block import BlockTemplate
from router.middleware.conversation import Message, fingerprint, skill_named, without_block
from router.middleware.planner import Placement, Plan, Suggests, TurnPlanner
from router.middleware.session import TurnMemory
from router.suggestion import Suggestion

_log = logging.getLogger(__name__)
_SYSTEM = ("system", "developer")


class ChatRouter:
    """Puts the suggestion into the parameters of a chat completion.

    Needs no SDK: what it gets and gives is what every client and server of this form exchanges.

    Args:
        router: Whom to ask.
        placement: "system" sends the block as a message of its own behind the leading system
            messages; "turn" at the end of the newest user message, and the earlier ones where they
            were.
        template: Another wording of the block.
        memory: What was said on earlier turns.
        timeout_s: Seconds after which a turn goes on without the router; None waits.
        allowed_tools: Tools the agent may use; by default those of the request, unknown when it
            has none.
        loaded: Skills loaded by other means than the conversation shows.
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
        loaded: Iterable[str] = (),
    ) -> None:
        self.planner = TurnPlanner(router, placement, template, memory, timeout_s)
        self.allowed_tools = None if allowed_tools is None else frozenset(allowed_tools)
        self.loaded = loaded
        self.last: Suggestion | None = None

    def prepare(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with the suggestion in them.

        Args:
            params: Parameters of a chat completion; ``messages`` and ``tools`` are looked at.

        Returns:
            New parameters. Equal to those given when there is nothing to say or anything goes
            wrong, which is logged.
        """
        try:
            plan = self.planner.plan(_read_all(params), self._tools(params), self.loaded)
            return self._placed(params, plan)
        except Exception:
            _log.exception("the request goes on without a suggestion")
            return dict(params)

    async def aprepare(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`prepare` without blocking the event loop."""
        try:
            plan = await self.planner.aplan(_read_all(params), self._tools(params), self.loaded)
            return self._placed(params, plan)
        except Exception:
            _log.exception("the request goes on without a suggestion")
            return dict(params)

    def _tools(self, params: Mapping[str, Any]) -> frozenset[str] | None:
        if self.allowed_tools is not None:
            return self.allowed_tools
        tools = params.get("tools")
        if not isinstance(tools, Sequence) or not tools:
            return None
        called = (_get(tool, "function") or _get(tool, "custom") or tool for tool in tools)
        names = (_get(each, "name") for each in called)
        return frozenset(name for name in names if isinstance(name, str))

    def _placed(self, params: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
        if plan.suggestion is not None:
            self.last = plan.suggestion
        messages = list(params["messages"])
        if self.planner.placement == "turn":
            for index, block in plan.by_message.items():
                messages[index] = _with_block(messages[index], block)
        elif plan.block:
            leading = 0
            while leading < len(messages) and _get(messages[leading], "role") in _SYSTEM:
                leading += 1
            role = _get(messages[0], "role") if leading else "system"
            messages.insert(leading, {"role": role, "content": plan.block.strip("\n")})
        return {**params, "messages": messages}


def _read_all(params: Mapping[str, Any]) -> list[Message]:
    messages = params.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        raise TypeError("messages is not a list")
    return [_read(message) for message in messages]


def _read(message: Any) -> Message:
    role, content = _get(message, "role"), _get(message, "content")
    called = _get(message, "tool_calls")
    calls: dict[str, str] = {}
    for call in called if isinstance(called, Sequence) else ():
        function = _get(call, "function")
        name = skill_named(_get(function, "name"), _arguments(_get(function, "arguments")))
        if name is not None:
            calls[str(_get(call, "id"))] = name
    if isinstance(content, Sequence) and not isinstance(content, str):
        parts = (_get(part, "text") for part in content if _get(part, "type") == "text")
        content_text = "\n".join(part for part in parts if isinstance(part, str))
    else:
        content_text = content if isinstance(content, str) else ""
    text, has_block = without_block(content_text)
    said: Any = role if role in ("user", "assistant", "tool") else "system"
    said = "tool" if role == "function" else said
    digest = fingerprint([role, content, called, _get(message, "tool_call_id")])
    return Message(said, text, digest, has_block, calls)


def _arguments(text: object) -> object:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _with_block(message: Any, block: str) -> dict[str, Any]:
    content = _get(message, "content")
    added: Any = content + block if isinstance(content, str) else None
    if added is None:
        added = [*(content or ()), {"type": "text", "text": block}]
    if isinstance(message, Mapping):
        return {**message, "content": added}
    return {**message.model_dump(exclude_none=True), "content": added}


def _get(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)
