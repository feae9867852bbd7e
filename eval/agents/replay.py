"""An agent that answers from the store alone."""

from __future__ import annotations

from collections.abc import Sequence

from eval.agents.protocol import AgentRequest, Journal


class ReplayAgent:
    """Makes no call: what the store does not hold stays unanswered.

    Args:
        model: Model whose answers are replayed.
        endpoint: Base URL they came from, or None.
    """

    def __init__(self, model: str, endpoint: str | None = None) -> None:
        self._model = model
        self._endpoint = endpoint

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._model

    @property
    def endpoint(self) -> str | None:
        """Base URL the answers came from."""
        return self._endpoint

    def answer(self, requests: Sequence[AgentRequest], journal: Journal) -> None:
        """Note every request as unanswered: the benchmark has looked in the store before."""
        for request in requests:
            journal.fail(request, "it is not in the store")
