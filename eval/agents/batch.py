"""The same agent through the Message Batches API: half the price, an answer within a day."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from eval.agents.budget import Budget, BudgetSpentError, worst_case_tokens
from eval.agents.message import MalformedReplyError, read_message
from eval.agents.protocol import AgentError, AgentRequest, Journal
from eval.agents.redact import said_by_server
from eval.agents.store import PendingBatch, ResultStore
from router.turn import readable

if TYPE_CHECKING:
    import anthropic

_MOST_REQUESTS = 10_000
_MOST_BYTES = 200_000_000
"""The API takes 100,000 requests and 256 MB at once; smaller batches come back sooner."""
_CLOCKS = timedelta(minutes=5)
"""How far the server's clock may be from ours."""

Waiting = Callable[[int, int], None]
"""Told how many requests of the batches at hand are done, and how many there are."""


class ClaudeBatchAgent:
    """Hands requests in as batches and waits for them.

    A batch is written down before it is handed in and its id as soon as it is known, so that a run
    that was killed finds its batches again and pays for none of them twice.

    Args:
        model: Model to measure.
        client: The client (see `make_client`).
        store: Where batches are written down.
        endpoint: The `base_url` the client was made with; None for the API itself.
        budget: Cap on spending.
        poll_seconds: Time between two looks at a batch.
        waiting: Told of the progress.
    """

    def __init__(
        self,
        model: str,
        client: anthropic.Anthropic,
        store: ResultStore,
        endpoint: str | None = None,
        *,
        budget: Budget | None = None,
        poll_seconds: float = 30.0,
        waiting: Waiting | None = None,
    ) -> None:
        self._model = model
        self._client = client
        # Reading may be repeated as often as one likes; handing in may not.
        self._reader = client.with_options(max_retries=5)
        self._store = store
        self._endpoint = endpoint
        self._budget = budget or Budget()
        self._poll = poll_seconds
        self._waiting = waiting

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._model

    @property
    def endpoint(self) -> str | None:
        """Base URL of the server, or None for the API itself."""
        return self._endpoint

    def answer(self, requests: Sequence[AgentRequest], journal: Journal) -> None:
        """Collect the batches of earlier runs, hand the rest in, and wait.

        Raises:
            AgentError: If the server refuses, or cannot be reached; run again to go on.
        """
        import anthropic

        open_requests = {request.digest: request for request in requests}
        try:
            for batch in self._store.batches():
                self._collect(batch, open_requests, journal)
            for part in self._parts(list(open_requests.values()), journal):
                self._collect(self._hand_in(part), open_requests, journal)
        except anthropic.APIError as error:
            raise AgentError(
                "the batch cannot be followed "
                f"({said_by_server(str(error), self._client, 300)}); nothing is lost: "
                "run the same command again to go on"
            ) from error

    def _parts(
        self, requests: Sequence[AgentRequest], journal: Journal
    ) -> list[list[AgentRequest]]:
        """Requests in parts that the API takes, as many as the budget allows."""
        parts: list[list[AgentRequest]] = []
        size, spent = 0, ""
        for request in requests:
            if not spent:
                try:
                    self._budget.reserve(request)
                except BudgetSpentError as error:
                    spent = str(error)
            if spent:
                journal.fail(request, spent)
                continue
            full = parts and (len(parts[-1]) == _MOST_REQUESTS or size + request.size > _MOST_BYTES)
            if not parts or full:
                parts.append([])
                size = 0
            parts[-1].append(request)
            size += request.size
        return parts

    def _hand_in(self, requests: Sequence[AgentRequest]) -> PendingBatch:
        import anthropic

        batch = PendingBatch(
            key=secrets.token_hex(8),
            id=None,
            since=datetime.now(UTC),
            digests=tuple(request.digest for request in requests),
        )
        self._store.save_batch(batch)
        create: Any = self._client.messages.batches.create
        try:
            made = create(
                requests=[{"custom_id": r.digest, "params": r.params()} for r in requests]
            )
        except anthropic.APIStatusError as error:
            if error.status_code < 500:  # refused for certain: there is no batch to find again
                self._store.drop_batch(batch.key)
                raise AgentError(
                    f"the server refuses the batch: status {error.status_code}: "
                    f"{said_by_server(str(error.api_message or error.message), self._client, 300)}"
                ) from error
            raise
        batch = batch.model_copy(update={"id": str(made.id)})
        self._store.save_batch(batch)
        return batch

    def _collect(
        self, batch: PendingBatch, open_requests: dict[str, AgentRequest], journal: Journal
    ) -> None:
        """Wait for a batch and keep its answers; requests it answers leave `open_requests`."""
        for batch_id in [batch.id] if batch.id is not None else self._candidates(batch):
            if self._wait_for(batch_id) and self._take(batch, batch_id, open_requests, journal):
                break
        self._store.drop_batch(batch.key)

    def _take(
        self,
        batch: PendingBatch,
        batch_id: str,
        open_requests: dict[str, AgentRequest],
        journal: Journal,
    ) -> bool:
        """Keep the answers of a batch that has ended; False if it is another's, or has expired."""
        mine = set(batch.digests)
        for line in self._results(batch_id):
            digest = str(line.custom_id)
            if digest not in batch.digests and batch.id is None:
                return False
            if digest in mine:
                mine.discard(digest)
                self._settle(digest, line.result, open_requests.pop(digest, None), journal)
        return len(mine) < len(batch.digests)

    def _results(self, batch_id: str) -> Iterable[Any]:
        import anthropic

        try:
            return self._reader.messages.batches.results(batch_id)
        except anthropic.AnthropicError as error:
            if isinstance(error, anthropic.APIError) and not isinstance(
                error, anthropic.NotFoundError
            ):
                raise
            return ()  # results are kept for some weeks only: the requests are handed in again

    def _settle(
        self, digest: str, result: Any, request: AgentRequest | None, journal: Journal
    ) -> None:
        why = f"its batch entry is {readable(str(getattr(result, 'type', 'malformed')), 40)}"
        if getattr(result, "type", None) == "succeeded":
            try:
                reply = read_message(result.message.model_dump(mode="json"), batch=True)
            except (MalformedReplyError, AttributeError) as error:
                why = f"malformed answer: {said_by_server(str(error), self._client, 300)}"
            else:
                if request is None:  # asked by an earlier run, not by this one: paid all the same
                    self._store.put(digest, self._model, reply)
                    return
                self._budget.settle(worst_case_tokens(request), reply.usage.total)
                journal.record(request, reply)
                return
        if request is not None:
            journal.fail(request, why)

    def _wait_for(self, batch_id: str) -> bool:
        """Wait until a batch has ended; False when the server no longer knows it."""
        import anthropic

        while True:
            try:
                state = self._reader.messages.batches.retrieve(batch_id)
            except anthropic.NotFoundError:
                return False
            counts = state.request_counts
            if self._waiting is not None:
                done = counts.succeeded + counts.errored + counts.canceled + counts.expired
                self._waiting(done, done + counts.processing)
            if state.processing_status == "ended":
                return True
            time.sleep(self._poll)

    def _candidates(self, batch: PendingBatch) -> Iterator[str]:
        """Batches that may be one whose handing in was cut off before the answer, newest first.

        Others of the same account may be as large and as old: `_take` tells by what is in them.
        """
        known = {other.id for other in self._store.batches()}
        for made in self._reader.messages.batches.list(limit=100):
            if made.created_at < batch.since - _CLOCKS:
                return
            counts = made.request_counts
            total = (
                counts.processing + counts.succeeded + counts.errored + counts.canceled
                + counts.expired
            )  # fmt: skip
            if made.id not in known and total == len(batch.digests):
                yield str(made.id)
