"""Who picks a skill for each request: the router alone, or an agent that reads its block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eval.agents.prompt import agent_request, system_prompt
from eval.agents.protocol import AgentRequest, Reply
from eval.data import LabelledTurn
from eval.sensitivity.variants import SensitivityError, Setup
from roster import Roster, Skill
from roster.prompt import render_index
from router.block import suggestion_block
from router.pipeline import Router
from router.suggestion import Reason, Suggestion

Picker = Callable[[Setup, Sequence[LabelledTurn]], "list[str | None]"]
"""The skill picked for each turn under a setup, or None."""

LoadRouter = Callable[[Roster], Router]
"""A router for a roster; its thresholds are the same for every variant."""

Ask = Callable[[Sequence[AgentRequest]], Sequence[Reply]]
"""An agent's answer to each request."""


class RouterPicks:
    """What the router suggests.

    Args:
        load: Loads the router of a variant's roster.
    """

    def __init__(self, load: LoadRouter) -> None:
        self._load = load
        self._last: Router | None = None

    def __call__(self, setup: Setup, turns: Sequence[LabelledTurn]) -> list[str | None]:
        """The suggested name for each turn, or None.

        Raises:
            SensitivityError: If the router fails for a turn.
        """
        return [suggestion.name for suggestion in self.suggestions(setup.roster, turns)]

    def router(self, roster: Roster) -> Router:
        """The router of a roster; the last one is kept."""
        if self._last is None or self._last.roster != roster:
            self._last = self._load(roster)
        return self._last

    def suggestions(self, roster: Roster, turns: Sequence[LabelledTurn]) -> list[Suggestion]:
        """The router's answers for each turn.

        Raises:
            SensitivityError: If the router fails for a turn.
        """
        suggestions = self.router(roster).suggest_many(turn.turn() for turn in turns)
        for turn, suggestion in zip(turns, suggestions, strict=True):
            if suggestion.reason is Reason.ROUTER_ERROR:
                raise SensitivityError(
                    f"the router gave no answer for the request {turn.text[:60]!r} "
                    f"({suggestion.detail}); mend the judge and run again"
                )
        return suggestions


class AgentPicks:
    """What an agent loads first, told what the router suggests.

    Args:
        routers: The router's suggestions.
        model: Model of the agent.
        ask: Asks the agent.
        endpoint: Base URL of its server, or None for its own.
    """

    def __init__(
        self, routers: RouterPicks, model: str, ask: Ask, endpoint: str | None = None
    ) -> None:
        self._routers = routers
        self._model = model
        self._ask = ask
        self._endpoint = endpoint

    def __call__(self, setup: Setup, turns: Sequence[LabelledTurn]) -> list[str | None]:
        """The first skill loaded for each turn ("" when the call named none), or None.

        Raises:
            SensitivityError: If the router or the agent leaves a turn unanswered.
        """
        system = system_prompt(setup.roster)
        if setup.ordered:
            # The index is the same bytes in any order; this variant is about another order of it.
            system = system.replace(setup.roster.prompt(), index_in_order(setup.roster), 1)
        requests = [
            agent_request(
                self._model, system, turn, suggestion_block(suggestion, setup.template),
                self._endpoint,
            )
            for turn, suggestion in zip(
                turns, self._routers.suggestions(setup.roster, turns), strict=True
            )
        ]  # fmt: skip
        return [reply.loaded[0] if reply.loaded else None for reply in self._ask(requests)]


def index_in_order(roster: Roster, width: int = 60) -> str:
    """The roster prompt with categories and skills in the order of the roster."""
    categories: dict[str, list[Skill]] = {}
    for skill in roster:
        categories.setdefault(skill.category, []).append(skill)
    lines: list[str] = []
    for skills in categories.values():
        head, *_ = render_index(skills, width).split("\n")
        lines.append(head)
        lines += [render_index([skill], width).split("\n")[1] for skill in skills]
    return "\n".join(lines)
