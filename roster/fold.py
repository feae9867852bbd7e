"""Old, large tool results become a header and a short summary, in the provider's view alone."""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

_log = logging.getLogger(__name__)
_MEMO = 4_096


class FoldPolicy(BaseModel):
    """Which results are folded, and how short.

    Attributes:
        min_age_turns: User turns that must have begun since the result; at least 1.
        min_bytes: Smallest result that is folded, in bytes of UTF-8.
        max_summary_bytes: Longest summary, at most 4,096 bytes; the end of a longer one is cut.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_age_turns: int = Field(default=2, ge=1)
    min_bytes: int = Field(default=4_096, ge=1)
    max_summary_bytes: int = Field(default=512, ge=1, le=4_096)


class ToolResult(BaseModel):
    """A result to be summarized.

    Attributes:
        call_id: Identifier of the tool call.
        text: The whole result.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    call_id: str
    text: str


Summarize = Callable[[ToolResult], str | Awaitable[str]]
"""Summarizes a result; what it gives is not trusted to be short or even a text."""


class ToolResultFold:
    """Folds tool results of a conversation in Anthropic's or OpenAI's form.

    A summary is asked for once and remembered, so that the folded conversation has the same bytes
    on every turn and stays cached.

    Args:
        summarize: Gives the summary of a result; may be asynchronous, then use `aview`.
        policy: Which results are folded.
    """

    def __init__(self, summarize: Summarize, policy: FoldPolicy | None = None) -> None:
        self.summarize, self.policy = summarize, policy or FoldPolicy()
        self._memo: OrderedDict[str, str | None] = OrderedDict()

    def view(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The conversation as the provider gets it.

        Args:
            messages: The conversation; it is not changed.

        Returns:
            A new list. A result whose summarizer fails, gives nothing or gives no less than the
            result, stays as it is; so does one that is not text alone.
        """
        view = [dict(message) for message in messages]
        for place in _aged(view, self.policy):
            key = place.key
            if key not in self._memo:
                self._remember(key, self._summary(place))
            place.fold(self._memo[key])
        return view

    async def aview(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """`view` with a summarizer that is awaited where it is asynchronous."""
        view = [dict(message) for message in messages]
        for place in _aged(view, self.policy):
            key = place.key
            if key not in self._memo:
                self._remember(key, await self._asummary(place))
            place.fold(self._memo[key])
        return view

    def _summary(self, place: _Place) -> str | None:
        try:
            given = self.summarize(place.result)
            if inspect.iscoroutine(given):
                given.close()
                raise TypeError("the summarizer is asynchronous; use aview")
        except Exception:
            _log.exception("a tool result could not be summarized; it stays as it is")
            return None
        return self._folded(place, given)

    async def _asummary(self, place: _Place) -> str | None:
        try:
            given = self.summarize(place.result)
            if inspect.isawaitable(given):
                given = await given
        except Exception:
            _log.exception("a tool result could not be summarized; it stays as it is")
            return None
        return self._folded(place, given)

    def _folded(self, place: _Place, summary: object) -> str | None:
        if not isinstance(summary, str) or not summary.strip():
            return None
        limit = self.policy.max_summary_bytes
        data = summary.strip().encode("utf-8", "replace")
        short = data[:limit].decode("utf-8", "ignore")
        size = len(place.result.text.encode("utf-8", "replace"))
        text = f"[result of {place.result.call_id}: {size} bytes, summarized]\n{short}"
        return text if len(text.encode("utf-8", "replace")) < size else None

    def _remember(self, key: str, text: str | None) -> None:
        self._memo[key] = text
        while len(self._memo) > _MEMO:
            self._memo.popitem(last=False)


class _Place:
    """Where in the copied conversation a result stands."""

    def __init__(self, holder: dict[str, Any], call_id: str, text: str) -> None:
        self.holder, self.result = holder, ToolResult(call_id=call_id, text=text)

    @property
    def key(self) -> str:
        text = f"{self.result.call_id}\0{self.result.text}"
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def fold(self, text: str | None) -> None:
        if text is not None:
            self.holder["content"] = text


def _aged(messages: list[dict[str, Any]], policy: FoldPolicy) -> list[_Place]:
    """The results to be folded, the newest first; their holders are copies by now."""
    found: list[_Place] = []
    turns = 0
    for message in reversed(messages):
        if turns >= policy.min_age_turns:
            found += [
                place
                for place in _results(message)
                if len(place.result.text.encode("utf-8", "surrogatepass")) >= policy.min_bytes
            ]
        turns += _begins_turn(message)
    return found


def _begins_turn(message: Mapping[str, Any]) -> bool:
    if message.get("role") != "user":
        return False
    content = message.get("content")
    if isinstance(content, str):
        return True
    blocks = content if isinstance(content, list) else []
    kinds = [block.get("type") for block in blocks if isinstance(block, Mapping)]
    return any(kind != "tool_result" for kind in kinds)


def _results(message: dict[str, Any]) -> list[_Place]:
    content = message.get("content")
    if message.get("role") == "tool":
        text = _plain(content)
        return [] if text is None else [_Place(message, str(message.get("tool_call_id")), text)]
    if message.get("role") != "user" or not isinstance(content, list):
        return []
    copied = [dict(block) if isinstance(block, Mapping) else block for block in content]
    message["content"] = copied
    places = []
    for block in copied:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            text = _plain(block.get("content"))
            if text is not None:
                places.append(_Place(block, str(block.get("tool_use_id")), text))
    return places


def _plain(content: object) -> str | None:
    """The text of a result; None when it holds anything else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = []
    for block in content:
        if not isinstance(block, Mapping) or block.get("type") != "text":
            return None
        if "cache_control" in block or not isinstance(block.get("text"), str):
            return None
        texts.append(block["text"])
    return "\n".join(texts)
