"""Strict reading of what a Messages API answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from eval.agents.prompt import SKILL_VIEW
from eval.agents.protocol import Reply, Usage
from roster.text import encodable, field_path

# Servers write null for a count they do not have.
_Tokens = Annotated[int, BeforeValidator(lambda value: 0 if value is None else value), Field(ge=0)]


class MalformedReplyError(Exception):
    """The server answered, but not with a message."""


class _Usage(BaseModel):
    input_tokens: _Tokens = 0
    output_tokens: _Tokens = 0
    cache_read_input_tokens: _Tokens = 0
    cache_creation_input_tokens: _Tokens = 0


class _Message(BaseModel):
    type: Literal["message"]
    content: list[dict[str, Any]]
    usage: _Usage
    stop_reason: str | None = None


def read_message(
    data: bytes | dict[str, Any], latency_ms: float | None = None, batch: bool = False
) -> Reply:
    """A message of the Messages API as a reply.

    Args:
        data: The body of the response, or the message it holds.
        latency_ms: Time of the call.
        batch: Whether it came out of a batch.

    Raises:
        MalformedReplyError: If it is not a message.
    """
    try:
        if isinstance(data, bytes):
            message = _Message.model_validate_json(data)
        else:
            message = _Message.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = field_path(first["loc"]) or "the body"
        raise MalformedReplyError(f"{field}: {first['msg']}") from error
    uses = [block for block in message.content if block.get("type") == "tool_use"]
    usage = message.usage
    return Reply(
        loaded=tuple(_skill_name(use) for use in uses if use.get("name") == SKILL_VIEW),
        calls=tuple(_text(use.get("name")) for use in uses),
        usage=Usage(
            input=usage.input_tokens,
            cache_read=usage.cache_read_input_tokens,
            cache_write=usage.cache_creation_input_tokens,
            output=usage.output_tokens,
        ),
        latency_ms=latency_ms,
        stop_reason=message.stop_reason,
        batch=batch,
    )


def _skill_name(use: dict[str, Any]) -> str:
    arguments = use.get("input")
    return _text(arguments.get("name")) if isinstance(arguments, dict) else ""


def _text(value: object) -> str:
    """A name as the model wrote it, of bounded length; "" for anything that is not a text."""
    return encodable(value[:200]) if isinstance(value, str) else ""
