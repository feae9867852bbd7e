"""The options of `skill-router bench` that concern an agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel, ConfigDict

from eval.commands.numbers import price_pair
from eval.commands.outputs import check_extra

if TYPE_CHECKING:
    from eval.agents.prices import Price
    from eval.agents.protocol import Agent
    from eval.agents.store import ResultStore

Command = Callable[..., Any]
_POSITIVE = click.IntRange(min=1)


def agent_options(command: Command) -> Command:
    """Add the options."""
    for option in reversed(
        [
            click.option(
                "--agent",
                metavar="NAME",
                help="claude:MODEL, scripted (no key, says nothing about a real agent), or "
                "replay:MODEL (makes no call).",
            ),
            click.option(
                "--arms",
                metavar="A,B",
                help="What the agent is told: baseline, suggested, oracle, or an arm of an "
                "imported run.  [default: baseline,suggested,oracle]",
            ),
            click.option("--store", metavar="FILE", help="Where answers are kept and replayed."),
            click.option(
                "--import",
                "import_path",
                metavar="FILE",
                help="Also replay the run of a published json_cache.json.",
            ),
            click.option(
                "--agent-base-url",
                "agent_base_url",
                metavar="URL",
                help="Root of another server with the Messages API.",
            ),
            click.option("--batch", is_flag=True, help="Use the Message Batches API."),
            click.option(
                "--workers", type=click.IntRange(1, 64), help="Calls at a time.  [default: 8]"
            ),
            click.option("--calls-per-minute", type=_POSITIVE, help="Most calls a minute."),
            click.option("--max-calls", type=_POSITIVE, help="Most calls of this run."),
            click.option("--max-tokens", type=_POSITIVE, help="Most tokens of this run."),
            click.option(
                "--attempts",
                type=click.IntRange(1, 20),
                help="Most attempts for a request.  [default: 6]",
            ),
            click.option(
                "--price",
                type=price_pair,
                metavar="IN,OUT",
                help="US dollars per million tokens of input and of output.  [default: a dated, "
                "unverified list]",
            ),
            click.option(
                "--prices", metavar="FILE", help="The same for several models, as a TOML file."
            ),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


class AgentOptions(BaseModel):
    """What was asked for; every field is one option."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str | None
    arms: str | None
    store: str | None
    import_path: str | None
    agent_base_url: str | None
    batch: bool
    workers: int | None
    calls_per_minute: int | None
    max_calls: int | None
    max_tokens: int | None
    attempts: int | None
    price: tuple[float, float] | None
    prices: str | None

    def check(self) -> None:
        """Refuse what makes no sense, before anything is loaded.

        Raises:
            click.UsageError: With the option and the remedy.
        """
        if self.agent is None:
            given = [name for name, value in self if value and name != "agent"]
            if given:
                option = given[0].replace("import_path", "import").replace("_", "-")
                raise click.UsageError(f"--{option} needs --agent")
            return
        kind, _, model = self.agent.partition(":")
        if kind not in ("claude", "scripted", "replay"):
            raise click.UsageError(
                f"--agent {self.agent!r}: use claude:MODEL, scripted or replay:MODEL"
            )
        if (kind == "scripted") == bool(model):
            example = "scripted" if kind == "scripted" else f"{kind}:claude-haiku-4-5-20251001"
            raise click.UsageError(f"--agent {self.agent!r}: write --agent {example}")
        if self.batch and kind != "claude":
            raise click.UsageError("--batch needs --agent claude:MODEL")
        if self.price is not None and self.prices is not None:
            raise click.UsageError("give --price or --prices")
        if kind == "claude":
            check_extra(f"--agent {self.agent}", "agents", "anthropic", "tenacity")
        names = self.arm_names
        if not all(names) or len(set(names)) != len(names):
            raise click.UsageError(f"--arms {self.arms!r}: give distinct names, such as baseline")

    @property
    def arm_names(self) -> list[str]:
        """The arms in order."""
        from eval.agent_bench import ARMS

        return list(ARMS) if self.arms is None else [n.strip() for n in self.arms.split(",")]

    @property
    def model(self) -> str:
        """Name of the model that answers."""
        kind, _, model = str(self.agent).partition(":")
        return model or kind

    @property
    def replays_published(self) -> bool:
        """Whether answers of an imported run stand in for live ones: never unasked."""
        return self.import_path is not None or str(self.agent).startswith("replay:")

    def known_price(self) -> Price | None:
        """The price of the model, or None when nobody knows it.

        Raises:
            AgentError: If `--prices` cannot be used.
        """
        from eval.agents.prices import Price, price_of

        if self.price is not None:
            return Price(input=self.price[0], output=self.price[1], source="given by --price")
        return price_of(self.model, self.prices)

    def store_path(self) -> str | Path:
        """Where answers are kept; ":memory:" for an agent that costs nothing."""
        if self.store is not None:
            return self.store
        if self.agent == "scripted":  # costs nothing and answers alike: nothing to keep
            return ":memory:"
        from platformdirs import user_data_path

        return user_data_path("skill-router") / "agent-answers.sqlite"

    def make_agent(self, store: ResultStore) -> Agent:
        """The agent that was asked for."""
        from eval.agents.replay import ReplayAgent
        from eval.agents.scripted import ScriptedAgent

        if self.agent == "scripted":
            return ScriptedAgent()
        if str(self.agent).startswith("replay:"):
            return ReplayAgent(self.model, self.agent_base_url)
        from eval.agents.batch import ClaudeBatchAgent
        from eval.agents.budget import Budget
        from eval.agents.claude import ClaudeAgent, make_client

        client = make_client(self.agent_base_url)
        budget = Budget(self.max_calls, self.max_tokens)
        if self.batch:
            return ClaudeBatchAgent(self.model, client, store, self.agent_base_url, budget=budget)
        return ClaudeAgent(
            self.model,
            client,
            self.agent_base_url,
            workers=self.workers or 8,
            budget=budget,
            per_minute=self.calls_per_minute,
            attempts=self.attempts or 6,
        )
