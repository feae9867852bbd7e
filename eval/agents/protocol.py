"""What an agent is sent, what it answers, and the protocol every agent follows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]


class AgentError(ValueError):
    """The agent cannot be asked at all: a wrong key, model or setting; the message says which."""


class AgentRequest(BaseModel):
    """One request to an agent, complete.

    Attributes:
        model: Model that answers.
        system: Blocks of the system prompt: the roster's index, cached, then the router's block.
        tools: Tools the agent may call.
        messages: The conversation.
        max_tokens: Most tokens of the answer.
        endpoint: Base URL of another server; None for the agent's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    system: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...]
    messages: tuple[dict[str, Any], ...]
    max_tokens: int = Field(default=1024, ge=1)
    endpoint: str | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) over everything that is sent, and where to."""
        sent = {**self.params(), "endpoint": self.endpoint}
        return hashlib.sha256(json.dumps(sent, sort_keys=True).encode("ascii")).hexdigest()

    @cached_property
    def size(self) -> int:
        """Bytes of the request as JSON."""
        return len(json.dumps(self.params(), ensure_ascii=False).encode("utf-8", "replace"))

    def params(self) -> dict[str, Any]:
        """The request in the form of the Messages API."""
        return {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "system": list(self.system),
            "tools": list(self.tools),
            "messages": list(self.messages),
        }


class Usage(BaseModel):
    """Tokens of one answer, or of many.

    Attributes:
        input: Input tokens that were neither read from the cache nor written to it.
        cache_read: Input tokens read from the cache.
        cache_write: Input tokens written to the cache.
        output: Tokens of the answer.
    """

    model_config = ConfigDict(frozen=True)

    input: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0
    output: Count = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: Usage) -> Usage:
        """Sum of both."""
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
        )


class Reply(BaseModel):
    """The first response of an agent, as far as it is graded.

    Attributes:
        loaded: Name in each `skill_view` call, in order; "" where the call named none.
        calls: Name of each tool that was called, in order; "" where the call named none.
        usage: Tokens.
        latency_ms: Time of the call that was answered; None where it means nothing (a batch).
        stop_reason: Why the model stopped, when it said.
        batch: Whether it was answered in a batch, at half the price.
    """

    model_config = ConfigDict(frozen=True)

    loaded: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    usage: Usage = Usage()
    latency_ms: float | None = None
    stop_reason: str | None = None
    batch: bool = False


class Journal(Protocol):
    """Told what becomes of each request, at once, from any thread."""

    def begin(self, request: AgentRequest) -> None:
        """The request is about to be sent for the first time."""
        ...

    def record(self, request: AgentRequest, reply: Reply) -> None:
        """The request was answered; when this returns the answer is on disk."""
        ...

    def fail(self, request: AgentRequest, why: str) -> None:
        """The request stays unanswered in this run."""
        ...


class Agent(Protocol):
    """Answers requests; a benchmark does not know which agent it holds."""

    @property
    def model(self) -> str:
        """Name of the model that answers."""
        ...

    @property
    def endpoint(self) -> str | None:
        """Base URL of the server that answers, or None."""
        ...

    def answer(self, requests: Sequence[AgentRequest], journal: Journal) -> None:
        """Answer the requests, in any order.

        Args:
            requests: Requests with distinct digests.
            journal: Told of each request whether it was answered.

        Raises:
            AgentError: If no request can be answered; what was recorded stays.
        """
        ...
