"""The Anthropic Messages API: from request parameters to request parameters, and whole clients."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from router.block import BlockTemplate
from router.middleware.conversation import Message, fingerprint, skill_named, without_block
from router.middleware.planner import Placement, Plan, Suggests, TurnPlanner
from router.middleware.session import TurnMemory
from router.suggestion import Suggestion

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic

Client = TypeVar("Client", "Anthropic", "AsyncAnthropic")

_log = logging.getLogger(__name__)
_PATHS = ("/v1/messages", "/v1/messages/count_tokens")


class MessagesRouter:
    """Puts the suggestion into requests of the Messages API.

    ``tools``, the blocks of the system prompt and every ``cache_control`` stay as they are; nothing
    is added but one text block. What was passed in is never changed.

    Args:
        router: Whom to ask.
        placement: "system" sends the block behind the system prompt; "turn" at the end of the
            newest user message, and the earlier ones where they were, so that the conversation
            stays cached too.
        template: Another wording of the block.
        memory: What was said on earlier turns. Share one between clients of one conversation; give
            each group of users that has other tools its own.
        timeout_s: Seconds after which a turn goes on without the router; None waits.
        allowed_tools: Tools the agent may use; by default those of the request, unknown when it
            has none.
        loaded: Skills loaded by other means than the conversation shows, such as a
            `LoadedSkillSet`.
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
            params: Parameters of ``messages.create``, ``stream`` or ``count_tokens``.

        Returns:
            New parameters. Equal to those given when there is nothing to say or anything goes
            wrong, which is logged.
        """
        try:
            plan = self.planner.plan(read_messages(params), self._tools(params), self.loaded)
            return self._placed(params, plan)
        except Exception:
            _log.exception("the request goes on without a suggestion")
            return dict(params)

    async def aprepare(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`prepare` without blocking the event loop."""
        try:
            plan = await self.planner.aplan(read_messages(params), self._tools(params), self.loaded)
            return self._placed(params, plan)
        except Exception:
            _log.exception("the request goes on without a suggestion")
            return dict(params)

    def wrap(self, client: Client) -> Client:
        """A client of the same kind whose every request carries the suggestion.

        ``messages.create``, ``stream``, ``parse``, ``count_tokens``, their raw and beta forms and
        the tool runner all pass through it. The client that was given stays as it was.

        Args:
            client: An `anthropic.Anthropic` or `anthropic.AsyncAnthropic`.

        Raises:
            TypeError: If the client is neither, or too old to carry middleware.
        """
        if not hasattr(client, "with_middleware"):
            raise TypeError(
                f"{type(client).__name__} has no with_middleware; give an Anthropic or "
                "AsyncAnthropic client of anthropic 2.0 or later"
            )
        from router.middleware.anthropic_client import client_middleware

        return client.with_middleware(client_middleware(self, _is_async(client)))

    def _tools(self, params: Mapping[str, Any]) -> frozenset[str] | None:
        if self.allowed_tools is not None:
            return self.allowed_tools
        tools = params.get("tools")
        if not isinstance(tools, Sequence) or not tools:
            return None
        names = (
            t.get("name") if isinstance(t, Mapping) else getattr(t, "name", None) for t in tools
        )
        return frozenset(name for name in names if isinstance(name, str))

    def _placed(self, params: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
        if plan.suggestion is not None:
            self.last = plan.suggestion
        if self.planner.placement == "system":
            return with_system_block(params, plan.block)
        messages = list(params["messages"])
        for index, block in plan.by_message.items():
            messages[index] = _with_block(messages[index], block)
        return {**params, "messages": messages}


def with_system_block(params: Mapping[str, Any], block: str) -> dict[str, Any]:
    """Parameters whose system prompt ends with one block more; equal ones when it is "".

    Args:
        params: Parameters of a request. Its system prompt is a text, a list of blocks or missing.
        block: The text of the block.
    """
    system = params.get("system")
    if not block:
        return dict(params)
    if isinstance(system, str):
        before: list[Any] = [{"type": "text", "text": system}] if system.strip() else []
    elif isinstance(system, Sequence):
        before = list(system)
    else:
        before = []
    return {**params, "system": [*before, {"type": "text", "text": block}]}


def read_messages(params: Mapping[str, Any]) -> list[Message]:
    """The conversation of a request.

    Raises:
        TypeError: If ``messages`` is not a list of messages.
    """
    messages = params.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        raise TypeError("messages is not a list")
    return [_read(message) for message in messages]


def _read(message: Any) -> Message:
    role, content = _get(message, "role"), _get(message, "content")
    digest = fingerprint([role, content])
    if isinstance(content, str):
        text, has_block = without_block(content)
        return Message(_role(role), text, digest, has_block)
    texts: list[str] = []
    calls: dict[str, str] = {}
    failed: set[str] = set()
    kinds: list[object] = []
    for block in content if isinstance(content, Sequence) else ():
        kind = _get(block, "type")
        kinds.append(kind)
        if kind == "text" and isinstance(_get(block, "text"), str):
            texts.append(_get(block, "text"))
        elif kind == "tool_use":
            name = skill_named(_get(block, "name"), _get(block, "input"))
            if name is not None:
                calls[str(_get(block, "id"))] = name
        elif kind == "tool_result" and _get(block, "is_error"):
            failed.add(str(_get(block, "tool_use_id")))
    text, has_block = without_block("\n".join(texts))
    only_results = bool(kinds) and all(kind == "tool_result" for kind in kinds)
    if has_block and not text.strip() and "tool_result" in kinds:
        only_results = True
    said: Any = "tool" if role == "user" and only_results else _role(role)
    return Message(said, text, digest, has_block, calls, frozenset(failed))


def _role(role: object) -> Any:
    return role if role in ("user", "assistant") else "system"


def _with_block(message: Any, block: str) -> dict[str, Any]:
    content = _get(message, "content")
    before = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    added = [*before, {"type": "text", "text": block}]
    if isinstance(message, Mapping):
        return {**message, "content": added}
    return {"role": _get(message, "role"), "content": added}


def _get(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)


def _is_async(client: object) -> bool:
    return inspect.iscoroutinefunction(getattr(client, "post", None))


def is_messages_path(url: str) -> bool:
    """Whether a request's path is one whose body holds a conversation."""
    path = "/" + url.split("?", 1)[0].strip("/")
    return path.endswith(_PATHS)
