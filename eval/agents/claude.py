"""The agent behind the Anthropic Messages API, or any server that speaks it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from eval.agents.budget import Budget, BudgetSpentError
from eval.agents.message import MalformedReplyError, read_message
from eval.agents.pacer import Pacer
from eval.agents.protocol import AgentError, AgentRequest, Journal, Reply
from eval.agents.redact import said_by_server
from eval.agents.store import StoreError

if TYPE_CHECKING:
    import anthropic

_SETUP = frozenset({401, 402, 403, 404})
"""Statuses that every request would get: a wrong key, no credit, an unknown model or address."""
_BUSY = frozenset({429, 529})
_LONGEST_PAUSE = 300.0
_MOST_DEAD = 5
"""Requests in a row that no attempt could get answered, before the server counts as down."""


def make_client(
    base_url: str | None = None, api_key: str | None = None, timeout: float = 120.0
) -> anthropic.Anthropic:
    """A client that leaves retries to its user, so that each attempt is paced and counted.

    Args:
        base_url: Another server that speaks the Messages API.
        api_key: The key; by default what the SDK finds in the environment.
        timeout: Longest wait for one answer, in seconds.

    Raises:
        AgentError: If the SDK is not installed, or there is no key.
    """
    try:
        import anthropic
    except ImportError as error:
        raise AgentError(
            "the agent claude needs the Anthropic SDK: pip install 'skill-router[agents]'"
        ) from error
    try:
        client = anthropic.Anthropic(
            api_key=api_key, base_url=base_url, max_retries=0, timeout=timeout
        )
    except (anthropic.AnthropicError, ValueError, TypeError) as error:
        raise AgentError(
            f"the Anthropic client cannot be set up: {error}; set ANTHROPIC_API_KEY, or use "
            "--agent scripted"
        ) from error
    if not (client.api_key or client.auth_token or client.credentials):
        raise AgentError(
            "there is no key for the agent: set ANTHROPIC_API_KEY (any text will do for a server "
            "that asks for none), or use --agent scripted"
        )
    return client


class ClaudeAgent:
    """Asks the Messages API with several calls at a time.

    Busy servers (429, 529) pause all workers for as long as the server asks; these, other
    server errors, cut connections and malformed answers are tried again with exponential backoff.

    Args:
        model: Model to measure.
        client: The client; it must not retry by itself (see `make_client`).
        endpoint: The `base_url` it was made with; None for the API itself.
        workers: Most calls at a time.
        budget: Cap on spending.
        per_minute: Most calls a minute.
        attempts: Most attempts for a request.
        backoff: First pause before another attempt, in seconds; doubled each time, up to a minute.
    """

    def __init__(
        self,
        model: str,
        client: anthropic.Anthropic,
        endpoint: str | None = None,
        *,
        workers: int = 8,
        budget: Budget | None = None,
        per_minute: int | None = None,
        attempts: int = 6,
        backoff: float = 1.0,
    ) -> None:
        self._model = model
        self._client = client
        self._endpoint = endpoint
        self._workers = workers
        self._budget = budget or Budget()
        self._pacer = Pacer(per_minute)
        self._attempts = attempts
        self._backoff = wait_exponential_jitter(initial=backoff, max=60.0, jitter=backoff)
        self._lock = threading.Lock()
        self._stopped: str | None = None
        self._broken: AgentError | StoreError | None = None
        self._dead = 0

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._model

    @property
    def endpoint(self) -> str | None:
        """Base URL of the server, or None for the API itself."""
        return self._endpoint

    def answer(self, requests: Sequence[AgentRequest], journal: Journal) -> None:
        """Answer the requests; the first one alone, so that the others find its prompt cached.

        Raises:
            AgentError: If the key, the model or the first request is refused.
            StoreError: If an answer cannot be kept: no further call is paid then.
        """
        if not requests:
            return
        self._one(requests[0], journal, first=True)
        with ThreadPoolExecutor(self._workers, thread_name_prefix="agent") as pool:
            try:
                for request in requests[1:]:
                    pool.submit(self._one, request, journal)
                pool.shutdown(wait=True)
            except BaseException:
                # Calls under way are paid for: wait for them, start no others.
                self._stop("the run was interrupted")
                raise
        if self._broken is not None:
            raise self._broken

    def _one(self, request: AgentRequest, journal: Journal, first: bool = False) -> None:
        if self._stopped is not None:
            journal.fail(request, self._stopped)
            return
        try:
            self._answer(request, journal, first)
        except BudgetSpentError as error:
            self._stop(str(error))
            journal.fail(request, str(error))
        except (AgentError, StoreError) as error:
            self._broken = self._broken or error
            self._stop(str(error))
            journal.fail(request, str(error))
        except Exception as error:  # a defect here must cost one request, not the run's report
            self._broken = self._broken or AgentError(f"{type(error).__name__}: {error}"[:500])
            self._stop(str(self._broken))
            journal.fail(request, str(self._broken))
        if first and self._broken is not None:
            raise self._broken

    def _answer(self, request: AgentRequest, journal: Journal, first: bool) -> None:
        import anthropic

        attempts = Retrying(
            stop=stop_after_attempt(self._attempts),
            wait=self._wait,
            retry=retry_if_exception(_worth_another),
            sleep=self._pacer.sleep,
            reraise=True,
        )
        journal.begin(request)
        try:
            reply = attempts(self._call, request)
        except (anthropic.APIError, MalformedReplyError) as error:
            why = _reason(error, self._client)
            status = error.status_code if isinstance(error, anthropic.APIStatusError) else None
            passing = _worth_another(error)
            if status in _SETUP or (first and not passing):
                raise AgentError(
                    f"the server refuses requests for {self._model!r}: {why}"
                ) from error
            if first:
                raise AgentError(
                    f"the server does not answer, after {self._attempts} attempts: {why}"
                ) from error
            journal.fail(request, why)
            self._note_dead(why, dead=passing)
        else:
            self._note_dead("", dead=False)
            journal.record(request, reply)

    def _call(self, request: AgentRequest) -> Reply:
        """One attempt."""
        import anthropic

        if not self._pacer.wait():
            raise BudgetSpentError(self._stopped or "the run was stopped")
        reserved = self._budget.reserve(request)
        started = perf_counter()
        try:
            response = self._client.messages.with_raw_response.create(**request.params())
            body = response.http_response.content
        except anthropic.APIStatusError:
            self._budget.settle(reserved, 0)
            raise
        # Of a cut or malformed answer nobody knows the price: the reservation stays as its cost.
        reply = read_message(body, round((perf_counter() - started) * 1000.0, 1))
        self._budget.settle(reserved, reply.usage.total)
        return reply

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next attempt; a busy server makes everyone wait."""
        import anthropic

        error = state.outcome.exception() if state.outcome else None
        seconds = float(self._backoff(state))
        if isinstance(error, anthropic.APIStatusError):
            asked = _retry_after(error)
            seconds = seconds if asked is None else asked
            if error.status_code in _BUSY:
                self._pacer.pause(seconds)
        return seconds

    def _stop(self, why: str) -> None:
        with self._lock:
            self._stopped = self._stopped or why
        self._pacer.stop()

    def _note_dead(self, why: str, dead: bool) -> None:
        with self._lock:
            self._dead = self._dead + 1 if dead else 0
            down = self._dead >= _MOST_DEAD
        if down:
            self._stop(f"the server answered none of {_MOST_DEAD} requests in a row ({why})")


def _worth_another(error: BaseException) -> bool:
    """Whether another attempt may succeed."""
    import anthropic

    if isinstance(error, anthropic.APIStatusError):
        return error.status_code in (408, 409, 429) or error.status_code >= 500
    return isinstance(error, anthropic.APIConnectionError | MalformedReplyError)


def _retry_after(error: anthropic.APIStatusError) -> float | None:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(seconds, _LONGEST_PAUSE) if seconds >= 0.0 else None


def _reason(error: Exception, client: anthropic.Anthropic) -> str:
    """One line on what went wrong, fit for a terminal, without the request."""
    import anthropic

    if isinstance(error, anthropic.APIStatusError):
        text = error.api_message if isinstance(error.api_message, str) else error.message
        return f"status {error.status_code}: {said_by_server(text, client, 300)}"
    if isinstance(error, MalformedReplyError):
        return f"malformed answer: {said_by_server(str(error), client, 300)}"
    cause = f" ({said_by_server(str(error.__cause__), client, 200)})" if error.__cause__ else ""
    return f"{said_by_server(str(error), client, 200)}{cause}"
