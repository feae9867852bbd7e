"""Asking an agent which skill it loads for a turn."""

from __future__ import annotations

from collections.abc import Sequence

from eval.agent_bench import BASELINE, Told, run_agent_bench
from eval.agents.protocol import Agent
from eval.agents.store import ResultStore
from eval.data import LabelledTurn
from eval.evaluators import EvaluatorError
from roster import Roster


class AgentAsk:
    """Asks an agent that sees the index of the roster, and no suggestion.

    Args:
        agent: The agent.
        store: Where its answers are kept: the same request is never asked twice.
    """

    def __init__(self, agent: Agent, store: ResultStore) -> None:
        self._agent = agent
        self._store = store

    def __call__(self, roster: Roster, turns: Sequence[LabelledTurn]) -> list[str | None]:
        """The skill the agent loads first for each turn, or None."""
        told = {BASELINE: [Told()] * len(turns)}
        run = run_agent_bench(self._agent, roster, turns, told, self._store)
        outcomes = run.arms[BASELINE]
        for outcome in outcomes:
            if outcome.reply is None:
                raise EvaluatorError(
                    f"the agent gave no answer to {outcome.turn.text[:60]!r} ({outcome.why}); "
                    "activate again: what it did answer is kept"
                )
        return [outcome.loaded for outcome in outcomes]
