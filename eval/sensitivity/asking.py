"""Asking an agent, with every answer kept: a rerun asks only what is not in the store."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from eval.agents.protocol import Agent, AgentRequest, Reply
from eval.agents.store import ResultStore
from eval.sensitivity.variants import SensitivityError


class StoredAsk:
    """Answers from the store first, from the agent else.

    Args:
        agent: The agent.
        store: Where answers are kept.
    """

    def __init__(self, agent: Agent, store: ResultStore) -> None:
        self._agent = agent
        self._store = store
        self._lock = threading.Lock()
        self.live = 0
        self.replayed = 0
        self._failures: list[str] = []

    def __call__(self, requests: Sequence[AgentRequest]) -> list[Reply]:
        """One reply a request.

        Raises:
            AgentError: If the agent cannot be asked at all.
            SensitivityError: If a request stays unanswered; the answers there are stay.
        """
        kept = {request.digest: self._store.get(request.digest) for request in requests}
        missing = {r.digest: r for r in requests if kept[r.digest] is None}
        self.replayed += len(kept) - len(missing)
        if missing:
            self._agent.answer(list(missing.values()), self)
        replies = [kept[r.digest] or self._store.get(r.digest) for r in requests]
        answered = [reply for reply in replies if reply is not None]
        if len(answered) < len(replies):
            why = self._failures[-1] if self._failures else "it was not asked"
            raise SensitivityError(
                f"the agent left {len(replies) - len(answered)} of {len(replies)} requests "
                f"unanswered ({why}); run again: what was answered is kept"
            )
        return answered

    def begin(self, request: AgentRequest) -> None:
        """Note that the request is about to be sent."""
        self._store.started(request.digest)

    def record(self, request: AgentRequest, reply: Reply) -> None:
        """Keep the answer."""
        self._store.put(request.digest, self._agent.model, reply)
        with self._lock:
            self.live += 1

    def fail(self, request: AgentRequest, why: str) -> None:
        """Note why the request stays unanswered."""
        self._store.gave_up(request.digest)
        with self._lock:
            self._failures.append(why)
