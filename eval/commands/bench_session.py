"""An agent run in two halves: whatever can be wrong shows before anything is waited or paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from eval.agent_bench import ARMS, SUGGESTED, AgentRun, arms_told, run_agent_bench
from eval.agent_summary import AgentSummary, summarize_agent
from eval.agents.store import ResultStore
from eval.bench import Answer
from eval.data import LabelledTurn
from roster import Roster

if TYPE_CHECKING:
    from eval.commands.bench_agent import AgentOptions

WithBar = Callable[[str, Callable[[Callable[[int, int], None]], Any]], Any]
"""Does some work behind a progress bar."""


class AgentSession:
    """The store, the agent and what the arms tell, opened; `run` asks.

    Args:
        options: What was asked for.
        roster: The skills.
        turns: The labelled turns.

    Raises:
        AgentError: If there is no key, no such arm, no such price file, or nothing to import.
        StoreError: If the store cannot be used.
    """

    def __init__(
        self, options: AgentOptions, roster: Roster, turns: Sequence[LabelledTurn]
    ) -> None:
        self._options, self._roster, self._turns = options, roster, turns
        self._price = options.known_price()
        self._store = ResultStore(options.store_path())
        try:
            if options.import_path is not None:
                self._import(options.import_path)
            known = [arm for arm in options.arm_names if arm != SUGGESTED]
            self._told = arms_told(known, turns, None, self._store, options.model)
            self._agent = options.make_agent(self._store)
        except BaseException:
            self._store.close()
            raise

    def __enter__(self) -> Self:
        """The session itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self._store.close()

    def run(self, answers: Sequence[Answer], with_bar: WithBar) -> tuple[AgentRun, AgentSummary]:
        """Ask the agent whatever the store does not hold.

        Args:
            answers: The router's answers to the turns, for the arm "suggested".
            with_bar: Does some work behind a progress bar.

        Returns:
            The run and its numbers.
        """
        options, told = self._options, dict(self._told)
        if SUGGESTED in options.arm_names:
            told |= arms_told([SUGGESTED], self._turns, answers, self._store, options.model)
        told = {arm: told[arm] for arm in options.arm_names}
        try:
            run: AgentRun = with_bar(
                "asking the agent",
                lambda tell: run_agent_bench(
                    self._agent, self._roster, self._turns, told, self._store, tell,
                    published=options.replays_published,
                ),
            )  # fmt: skip
        except KeyboardInterrupt:
            click.echo(
                "stopped; the answers so far are kept: run the same command again to go on",
                err=True,
            )
            raise SystemExit(130) from None
        if run.interrupted:
            click.echo(
                f"note: an earlier run was killed with {run.interrupted} requests under way; the "
                "server may have charged them without an answer reaching the store",
                err=True,
            )
        return run, summarize_agent(run, self._roster, self._price)

    def _import(self, path: str) -> None:
        from eval.agents.json_cache import read_json_cache

        options = self._options
        arms = list(dict.fromkeys([*options.arm_names, *ARMS]))
        rows = read_json_cache(path, options.model, arms, self._turns, self._roster)
        self._store.add_recorded(rows)
        click.echo(f"imported {len(rows)} answers from {path}", err=True)
