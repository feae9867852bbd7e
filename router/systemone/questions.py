"""Both questions put to a System One server through the TypeSafe SDK."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from roster import Skill
from roster.prompt import index_description
from router.errors import RouterError
from router.proposals.bounds import Bounds
from router.proposals.errors import MalformedReply, ProviderTimeout
from router.proposals.judge import Ask
from router.proposals.session import Call, Limits, Reader, Reply
from router.proposals.shapes import WideProposal
from router.suggestion import Reread
from router.systemone.answers import answer_tokens, read_reread_answers, read_wide_answers
from router.systemone.settings import SystemOneSettings
from router.systemone.wording import FITS_PREFIX, GATE_PREFIX, WHICH, Wording
from router.turn import Turn

if TYPE_CHECKING:
    import typesafe_sdk

Value = TypeVar("Value")


class SystemOneQuestions:
    """Asks a System One server with one request a question.

    Args:
        settings: Model, server, key and sizes.
        most_bytes: Longest reply that is read.

    Raises:
        RouterError: If the SDK is missing, there is no key, or the wording cannot be read.
    """

    def __init__(
        self,
        settings: SystemOneSettings | None = None,
        most_bytes: int = Limits().max_reply_bytes,
    ) -> None:
        try:
            import typesafe_sdk
        except ImportError as error:
            raise RouterError(
                "the System One judge needs the TypeSafe SDK; install skill-router[systemone]"
            ) from error
        self.settings = settings or SystemOneSettings()
        self.wording = Wording.load(self.settings.wording)
        self._sdk = typesafe_sdk
        self._most_bytes = most_bytes
        self._client = self._make_client()
        # A client's connections belong to the event loop that opened them.
        self._by_loop: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, typesafe_sdk.AsyncTypeSafeClient
        ] = weakref.WeakKeyDictionary()

    @property
    def digest(self) -> str:
        """The model's name and the start of the digest of the wording."""
        return f"{self.settings.model or 'systemone'}:{self.wording.digest[:16]}"

    @property
    def capacity(self) -> int:
        """Most labels of one choice."""
        return self.settings.chunk

    def wide(
        self, turn: Turn, skills: Sequence[Skill], bounds: Bounds, recurring: bool
    ) -> Ask[WideProposal]:
        """The first question; see `Questions.wide`. Skills the turn forbids are no labels."""
        questions: dict[str, Any] = {
            WHICH: self._sdk.Choice(
                instructions=self.wording.choose_wide,
                criteria={
                    skill.name: index_description(skill, self.settings.width)
                    for skill in skills
                    if skill.name in bounds.asked
                },
            )
        }
        for key, text in self.wording.gate.model_dump().items():
            questions[f"{GATE_PREFIX}{key}"] = self._sdk.Noul(instructions=text)
        return self._ask(turn, questions, lambda data: read_wide_answers(data, bounds))

    def reread(self, turn: Turn, candidates: Sequence[Skill], bounds: Bounds) -> Ask[Reread]:
        """The second question; see `Questions.reread`."""
        questions: dict[str, Any] = {
            WHICH: self._sdk.Choice(
                instructions=self.wording.choose_reread,
                criteria={
                    skill.name: f"{skill.description} \u2014 {skill.body[: self.settings.excerpt]}"
                    for skill in candidates
                },
            )
        }
        for skill in candidates:
            questions[f"{FITS_PREFIX}{skill.name}"] = self._sdk.Noul(
                instructions=self.wording.about(skill.name, skill.description)
            )
        return self._ask(turn, questions, lambda data: read_reread_answers(data, bounds))

    def _ask(self, turn: Turn, questions: dict[str, Any], read: Reader[Value]) -> Ask[Value]:
        state = {"request": turn.request_text, "recent_context": turn.context_text}

        def call_now(call: Call) -> Reply:
            try:
                answer = self._client.system_one(state, questions, timeout=self._patience(call))
            except self._sdk.TypeSafeAPITimeoutError as error:
                raise ProviderTimeout from error
            except self._sdk.TypeSafeAPIResponseValidationError as error:
                raise MalformedReply(f"the reply is wrong at {error.field_path[:120]!r}") from error
            return _reply(answer)

        async def call_later(call: Call) -> Reply:
            client = self._async_client()
            try:
                answer = await client.system_one(state, questions, timeout=self._patience(call))
            except self._sdk.TypeSafeAPITimeoutError as error:
                raise ProviderTimeout from error
            except self._sdk.TypeSafeAPIResponseValidationError as error:
                raise MalformedReply(f"the reply is wrong at {error.field_path[:120]!r}") from error
            return _reply(answer)

        return Ask(call_now, call_later, read, answer_tokens)

    def _patience(self, call: Call) -> float:
        timeout = self.settings.timeout_s
        return timeout if call.timeout_s is None else max(0.001, min(timeout, call.timeout_s))

    def _make_client(self) -> typesafe_sdk.TypeSafeClient:
        from router.proposals.access import require_url
        from router.proposals.bounded import bounded_client

        url = self.settings.base_url or os.environ.get("TYPESAFE_BASE_URL")
        if url:
            require_url(url, "System One")
        client = bounded_client(self.settings.timeout_s, self._most_bytes)
        try:
            return self._sdk.TypeSafeClient(http_client=client, **self._options())
        except (self._sdk.TypeSafeError, ValueError) as error:
            client.close()
            raise RouterError(f"the System One judge cannot be set up: {error}") from error

    def _async_client(self) -> typesafe_sdk.AsyncTypeSafeClient:
        from router.proposals.bounded import async_bounded_client

        loop = asyncio.get_running_loop()
        client = self._by_loop.get(loop)
        if client is None:
            client = self._by_loop[loop] = self._sdk.AsyncTypeSafeClient(
                http_client=async_bounded_client(self.settings.timeout_s, self._most_bytes),
                **self._options(),
            )
        return client

    def _options(self) -> dict[str, Any]:
        settings = self.settings
        options: dict[str, Any] = {
            "model": settings.model,
            "base_url": settings.base_url,
            "timeout": settings.timeout_s,
        }
        if settings.api_key is not None:
            options["api_key"] = settings.api_key.get_secret_value()
        if settings.max_retries is not None:
            options["retry"] = self._sdk.RetryPolicy(max_retries=settings.max_retries)
        return options


def _reply(answer: Any) -> Reply:
    # The exact bytes, not the SDK's reading of them: it would let a repeated key pass.
    response = answer.raw_http_response
    return Reply(response.content, len(response.request.content))
