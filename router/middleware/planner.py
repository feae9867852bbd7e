"""Decides what each message of a request carries; the integrations put it there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Literal, Protocol

from router.block import BlockTemplate, suggestion_block
from router.middleware.conversation import Message, chain, fingerprint, loaded_in
from router.middleware.session import Said, TurnMemory
from router.suggestion import Suggestion
from router.turn import Turn

Placement = Literal["system", "turn"]
"""Where the block goes: behind the system prompt, or at the end of the newest user message."""

MAX_CONTEXT = 8
"""Earlier messages passed on as recent context."""

_log = logging.getLogger(__name__)


class Suggests(Protocol):
    """What a planner asks: a `Router`, or anything that answers like one."""

    def suggest(self, request: Turn) -> Suggestion:
        """The suggestion for a turn."""
        ...


@dataclass(frozen=True)
class Plan:
    """What a request carries.

    Attributes:
        block: The block of the turn that is being answered; "" for none.
        by_message: Placement "turn": index of a user message to the block at its end.
        suggestion: What the router answered, when it was asked for this request.
    """

    block: str = ""
    by_message: dict[int, str] = field(default_factory=dict)
    suggestion: Suggestion | None = None


@dataclass(frozen=True)
class _Open:
    """A plan whose newest turn still has to be decided."""

    keys: list[str]
    index: int
    turn: Turn
    asked: str


class TurnPlanner:
    """Asks the router once a user turn and remembers what was said. Shared by all integrations.

    Args:
        router: Whom to ask.
        placement: "system" or "turn".
        template: Another wording of the block.
        memory: What was said on earlier turns; by default a memory of its own.
        timeout_s: Seconds after which a turn goes on without the router; None waits.

    Raises:
        ValueError: If there is no such placement, or the time is not positive.
    """

    def __init__(
        self,
        router: Suggests,
        placement: Placement = "system",
        template: BlockTemplate | None = None,
        memory: TurnMemory | None = None,
        timeout_s: float | None = 2.0,
    ) -> None:
        if placement not in ("system", "turn"):
            raise ValueError(f"the placement is system or turn, not {placement!r}")
        if timeout_s is not None and not timeout_s > 0:
            raise ValueError(f"timeout_s must be above 0, not {timeout_s}")
        self.router, self.placement, self.template = router, placement, template
        self.memory = memory if memory is not None else TurnMemory()
        self.timeout_s = timeout_s

    def plan(
        self,
        messages: Sequence[Message],
        allowed_tools: Iterable[str] | None = None,
        loaded: Iterable[str] = (),
    ) -> Plan:
        """What a request carries.

        Args:
            messages: The conversation, the newest message last.
            allowed_tools: Tools the agent may use; None when unknown.
            loaded: Skills the session has loaded, besides those the conversation shows.

        Returns:
            The plan. The router is asked only when the newest user message holds new words: not
            for results of tools, not for images alone, not for a turn it has answered already.
        """
        opened = self._open(messages, allowed_tools, loaded)
        suggestion = None
        if isinstance(opened, _Open):
            suggestion = self._ask(opened.turn)
            self._remember(opened, suggestion)
        return self._close(messages, suggestion)

    async def aplan(
        self,
        messages: Sequence[Message],
        allowed_tools: Iterable[str] | None = None,
        loaded: Iterable[str] = (),
    ) -> Plan:
        """`plan` without blocking the event loop."""
        opened = self._open(messages, allowed_tools, loaded)
        suggestion = None
        if isinstance(opened, _Open):
            suggestion = await self._aask(opened.turn)
            self._remember(opened, suggestion)
        return self._close(messages, suggestion)

    def _open(
        self,
        messages: Sequence[Message],
        allowed_tools: Iterable[str] | None,
        loaded: Iterable[str],
    ) -> _Open | None:
        index = _newest(messages)
        if index is None or messages[index].has_block:
            return None
        keys = chain(messages)
        texts = _trailing_texts(messages, index)
        if not texts:
            return None
        tools = None if allowed_tools is None else frozenset(allowed_tools)
        known = frozenset(loaded) | loaded_in(messages)
        asked = fingerprint([None if tools is None else sorted(tools), sorted(known)])
        said = self.memory.get(keys[index])
        if said is not None and said.asked == asked:
            return None
        first = index - len(texts) + 1
        context = [m.text for m in messages[:first] if m.role in ("user", "assistant") and m.text]
        turn = Turn(
            request="\n".join(texts),
            recent_context=tuple(context[-MAX_CONTEXT:]),
            allowed_tools=tools,
            loaded=known,
        )
        return _Open(keys, index, turn, asked)

    def _remember(self, opened: _Open, suggestion: Suggestion | None) -> None:
        # A failed turn is remembered too: what was sent without a block stays without one.
        block = "" if suggestion is None else suggestion_block(suggestion, self.template)
        self.memory.put(opened.keys[opened.index], Said(block, opened.asked))

    def _close(self, messages: Sequence[Message], suggestion: Suggestion | None) -> Plan:
        keys = chain(messages)
        by_message: dict[int, str] = {}
        for index, message in enumerate(messages):
            if message.role == "user" and not message.has_block:
                said = self.memory.get(keys[index])
                if said is not None and said.block:
                    by_message[index] = said.block
        newest = _newest(messages)
        block = "" if newest is None else by_message.get(newest, "")
        return Plan(block, by_message if self.placement == "turn" else {}, suggestion)

    def _ask(self, turn: Turn) -> Suggestion | None:
        if self.timeout_s is None:
            return self._answer(turn)
        answers: SimpleQueue[Suggestion | None] = SimpleQueue()
        # A daemon: a judge that hangs must not keep the program from ending.
        Thread(target=lambda: answers.put(self._answer(turn)), daemon=True).start()
        try:
            return answers.get(timeout=self.timeout_s)
        except Empty:
            _log.error("the router took over %g s; the turn goes on without it", self.timeout_s)
            return None

    async def _aask(self, turn: Turn) -> Suggestion | None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Suggestion | None] = loop.create_future()

        def deliver(answer: Suggestion | None) -> None:
            if not future.done():
                future.set_result(answer)

        def work() -> None:
            answer = self._answer(turn)
            try:
                loop.call_soon_threadsafe(deliver, answer)
            except RuntimeError:
                _log.debug("the router's answer came after the event loop was closed")

        Thread(target=work, daemon=True).start()
        try:
            return await asyncio.wait_for(future, self.timeout_s)
        except TimeoutError:
            _log.error("the router took over %g s; the turn goes on without it", self.timeout_s)
            return None

    def _answer(self, turn: Turn) -> Suggestion | None:
        try:
            return self.router.suggest(turn)
        except Exception:
            _log.exception("the router failed; the turn goes on without a suggestion")
            return None


def _newest(messages: Sequence[Message]) -> int | None:
    """The user message whose turn is being answered: the last one, whatever the agent did since."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            return index
    return None


def _trailing_texts(messages: Sequence[Message], index: int) -> list[str]:
    """The words of a new turn: of its last message and of user messages straight before it.

    [] when there are none, or when the agent has called tools since: that turn is not new.
    """
    if any(message.role == "tool" for message in messages[index + 1 :]):
        return []
    if not messages[index].text.strip():
        return []
    texts: list[str] = []
    while index >= 0 and messages[index].role == "user" and not messages[index].has_block:
        if not messages[index].text.strip():
            break
        texts.insert(0, messages[index].text)
        index -= 1
    return texts
