"""Both questions put to Claude through Anthropic's SDK."""

from __future__ import annotations

import asyncio
import hashlib
import json
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from roster import Skill
from router.claude import wording
from router.claude.envelope import tokens, tool_input
from router.claude.settings import ClaudeSettings
from router.errors import RouterError
from router.proposals.bounds import Bounds
from router.proposals.errors import ProviderTimeout
from router.proposals.judge import Ask
from router.proposals.session import Call, Limits, Reader, Reply
from router.proposals.shapes import WideProposal, read_reread, read_wide
from router.suggestion import Reread
from router.turn import Turn

if TYPE_CHECKING:
    import anthropic

Value = TypeVar("Value")


class ClaudeQuestions:
    """Asks Claude with one forced tool call a question.

    Args:
        settings: Model, server, key and sizes.
        most_bytes: Longest reply that is read.

    Raises:
        RouterError: If the SDK is missing, or there is no usable key.
    """

    def __init__(
        self,
        settings: ClaudeSettings | None = None,
        most_bytes: int = Limits().max_reply_bytes,
    ) -> None:
        try:
            import anthropic

            from router.proposals import access, bounded
        except ImportError as error:
            raise RouterError(
                "the Claude judge needs Anthropic's SDK; install skill-router[anthropic]"
            ) from error
        self.settings = settings or ClaudeSettings()
        self._anthropic = anthropic
        self._bounded = bounded
        self._most_bytes = most_bytes
        try:
            client = bounded.bounded_client(self.settings.timeout_s, most_bytes)
            self._client = anthropic.Anthropic(http_client=client, **self._options())
        except (anthropic.AnthropicError, ValueError, TypeError) as error:
            raise RouterError(f"the Claude judge cannot be set up: {error}") from error
        access.require_url(self._client.base_url, "Claude")
        _require_key(self._client)
        for key in (self._client.api_key, self._client.auth_token):
            if key is not None:
                access.require_key(key, "Claude")
        # A client's connections belong to the event loop that opened them.
        self._by_loop: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, anthropic.AsyncAnthropic
        ] = weakref.WeakKeyDictionary()

    @property
    def digest(self) -> str:
        """The model's name and the start of a digest of everything fixed that it reads."""
        fixed = [
            wording.wide_system([], self.settings.width, True),
            wording.reread_system(),
            wording.wide_tool(),
            wording.reread_tool([]),
            self.settings.width,
            self.settings.excerpt,
        ]
        text = json.dumps(fixed, sort_keys=True)
        return f"{self.settings.model}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def capacity(self) -> int:
        """Most skills in one prompt."""
        return self.settings.chunk

    def wide(
        self, turn: Turn, skills: Sequence[Skill], bounds: Bounds, recurring: bool
    ) -> Ask[WideProposal]:
        """The first question; see `Questions.wide`."""
        system = wording.wide_system(skills, self.settings.width, recurring)
        message = wording.wide_message(turn, bounds.forbidden)
        return self._ask(system, message, wording.wide_tool(), lambda data: read_wide(data, bounds))

    def reread(self, turn: Turn, candidates: Sequence[Skill], bounds: Bounds) -> Ask[Reread]:
        """The second question; see `Questions.reread`."""
        message = wording.reread_message(turn, candidates, self.settings.excerpt)
        tool = wording.reread_tool([skill.name for skill in candidates])
        return self._ask(
            wording.reread_system(), message, tool, lambda data: read_reread(data, bounds)
        )

    def _ask(
        self,
        system: list[dict[str, Any]],
        message: str,
        tool: dict[str, Any],
        read: Reader[Value],
    ) -> Ask[Value]:
        if self.settings.strict:
            tool = {**tool, "strict": True}

        def request(call: Call) -> dict[str, Any]:
            return {
                "model": self.settings.model,
                "max_tokens": self.settings.max_tokens,
                "system": system,
                "tools": [tool],
                "tool_choice": {
                    "type": "tool",
                    "name": tool["name"],
                    "disable_parallel_tool_use": True,
                },
                "messages": [{"role": "user", "content": wording.repair(message, call.error)}],
            }

        def call_now(call: Call) -> Reply:
            body = request(call)
            try:
                with self._client.messages.with_streaming_response.create(
                    **body, timeout=self._patience(call)
                ) as response:
                    return Reply(response.read(), _size(body))
            except self._anthropic.APITimeoutError as error:
                raise ProviderTimeout from error
            except self._anthropic.APIConnectionError as error:
                raise self._bounded.cause_of(error) from error

        async def call_later(call: Call) -> Reply:
            body = request(call)
            try:
                async with self._async_client().messages.with_streaming_response.create(
                    **body, timeout=self._patience(call)
                ) as response:
                    return Reply(await response.read(), _size(body))
            except self._anthropic.APITimeoutError as error:
                raise ProviderTimeout from error
            except self._anthropic.APIConnectionError as error:
                raise self._bounded.cause_of(error) from error

        def read_message(data: Mapping[str, Any]) -> Value:
            return read(tool_input(data, tool["name"]))

        return Ask(call_now, call_later, read_message, tokens)

    def _options(self) -> dict[str, Any]:
        settings = self.settings
        options: dict[str, Any] = {"timeout": settings.timeout_s}
        if settings.max_retries is not None:
            options["max_retries"] = settings.max_retries
        if settings.base_url is not None:
            options["base_url"] = settings.base_url
        if settings.api_key is not None:
            options["api_key"] = settings.api_key.get_secret_value()
        return options

    def _patience(self, call: Call) -> float:
        timeout = self.settings.timeout_s
        return timeout if call.timeout_s is None else max(0.001, min(timeout, call.timeout_s))

    def _async_client(self) -> anthropic.AsyncAnthropic:
        loop = asyncio.get_running_loop()
        client = self._by_loop.get(loop)
        if client is None:
            client = self._by_loop[loop] = self._anthropic.AsyncAnthropic(
                http_client=self._bounded.async_bounded_client(
                    self.settings.timeout_s, self._most_bytes
                ),
                **self._options(),
            )
        return client


def _require_key(client: anthropic.Anthropic) -> None:
    credentials = getattr(client, "credentials", None)
    if not client.api_key and not client.auth_token and credentials is None:
        raise RouterError(
            "the Claude judge has no key; set ANTHROPIC_API_KEY, or give api_key (any text does "
            "for a server of your own that asks for none)"
        )


def _size(body: dict[str, Any]) -> int:
    return len(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
