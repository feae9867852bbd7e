"""The Messages API reply around a proposal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from router.proposals.errors import MalformedReply
from router.usage import Usage


def tool_input(message: Mapping[str, Any], tool: str) -> Mapping[str, Any]:
    """The input of the one call of the forced tool.

    Args:
        message: The parsed reply of the API.
        tool: Name of the tool.

    Raises:
        MalformedReply: If the reply is no message, was cut off, or does not call the tool exactly
            once with an object.
    """
    content = message.get("content")
    if message.get("type") != "message" or not isinstance(content, list):
        raise MalformedReply("the reply is not a message")
    if message.get("stop_reason") == "max_tokens":
        raise MalformedReply("the reply was cut off at the token limit; answer shorter")
    calls = [part for part in content if isinstance(part, dict) and part.get("type") == "tool_use"]
    if len(calls) != 1 or calls[0].get("name") != tool:
        raise MalformedReply(f"the reply must call the tool {tool} exactly once")
    given = calls[0].get("input")
    if not isinstance(given, dict):
        raise MalformedReply(f"the input of {tool} must be an object")
    return given


def tokens(message: Mapping[str, Any]) -> Usage:
    """The tokens a reply reports; what is missing or no count is 0."""
    usage = message.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Usage(
        input_tokens=_count(usage.get("input_tokens")),
        cache_read_tokens=_count(usage.get("cache_read_input_tokens")),
        cache_write_tokens=_count(usage.get("cache_creation_input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
    )


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
