"""`skill-router sensitivity`: how much wording and order matter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from router.cli import print_json
from router.commands.options import judge_options, load_roster, load_router, router_options

if TYPE_CHECKING:
    from eval.data import LabelledTurn
    from eval.sensitivity import Picker, RouterPicks
    from eval.sensitivity.asking import StoredAsk
    from roster import Roster

Command = Callable[..., Any]
_POSITIVE = click.IntRange(min=1)


def shared_options(command: Command) -> Command:
    """Add the options both commands have."""
    for option in reversed(
        [
            click.option(
                "--requests",
                "requests_path",
                metavar="PATH",
                help="Labelled turns.  [default: those of the bundled roster]",
            ),
            click.option(
                "--agent",
                metavar="NAME",
                help="Measure an agent that reads the block, not the router alone: "
                "claude:MODEL, scripted or replay:MODEL.",
            ),
            click.option("--store", metavar="FILE", help="Where the agent's answers are kept."),
            click.option(
                "--agent-base-url",
                "agent_base_url",
                metavar="URL",
                help="Root of another server with the Messages API.",
            ),
            click.option("--batch", is_flag=True, help="Use the Message Batches API."),
            click.option("--workers", type=click.IntRange(1, 64), help="Calls at a time."),
            click.option("--calls-per-minute", type=_POSITIVE, help="Most calls a minute."),
            click.option("--max-calls", type=_POSITIVE, help="Most calls of this run."),
            click.option("--max-tokens", type=_POSITIVE, help="Most tokens of this run."),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        ]
    ):
        command = option(command)
    return router_options(judge_options(command))


@click.group()
def sensitivity() -> None:
    """Measure how much wording and order matter: of block, descriptions, roster."""


@sensitivity.command()
@shared_options
@click.option("--variants", "variants_path", metavar="FILE", help="A TOML file of variants.")
@click.option(
    "--shuffles",
    "shuffle_count",
    type=click.IntRange(0, 100),
    default=0,
    help="Also try this many other orders of the skills.",
)
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--show", type=click.IntRange(0), default=10, show_default=True,
    help="Contested requests that are printed.",
)  # fmt: skip
def variants(
    requests_path: str | None,
    as_json: bool,
    variants_path: str | None,
    shuffle_count: int,
    folds: int,
    seed: int,
    show: int,
    **settings: Any,
) -> None:
    """Run the same requests under variants of the block, of descriptions, of the order.

    A variants file has [[variant]] tables: a name and any of [variant.descriptions] (skill = text),
    roster (a path, whose descriptions are taken), [variant.block] (suggested, silent), shuffle.
    """
    from eval.commands.sensitivity_text import print_variants
    from eval.sensitivity import ORIGINAL, Variant, compare, read_variants, set_up, shuffles

    if variants_path is None and not shuffle_count:
        raise click.UsageError("give --variants FILE, --shuffles N, or both")
    with _Bench(requests_path, settings) as bench:
        chosen = [Variant(name=ORIGINAL)]
        if variants_path is not None:
            chosen += read_variants(variants_path, bench.roster)
        taken = {variant.name for variant in chosen}
        chosen += [v for v in shuffles(shuffle_count, seed) if v.name not in taken]
        if not bench.has_agent:
            _refuse_blocks(chosen)
        setups = [set_up(variant, bench.roster) for variant in chosen]
        picks = {}
        for number, setup in enumerate(setups, start=1):
            if sys.stderr.isatty():
                click.echo(f"variant {number} of {len(setups)}: {setup.name}", err=True)
            picks[setup.name] = bench.pick(setup, bench.turns)
    kinds = {setup.name: setup.kind for setup in setups}
    report = compare(bench.turns, picks, kinds, folds, seed)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_variants(report, show)


@sensitivity.command()
@click.argument("skill")
@shared_options
@click.option("--text", help="The new description.")
@click.option("--file", "file_path", metavar="FILE", help="The new description, as a text file.")
@click.option(
    "--neighbour",
    "near",
    multiple=True,
    metavar="NAME",
    help="A skill it is mistaken for; repeat it.  [default: the five the router ranks nearest]",
)
@click.option("--all", "everything", is_flag=True, help="Also ask about requests without a tie.")
def description(
    skill: str,
    requests_path: str | None,
    as_json: bool,
    text: str | None,
    file_path: str | None,
    near: tuple[str, ...],
    everything: bool,
    **settings: Any,
) -> None:
    """Measure an edit of SKILL's description: misses and false loads, before and after."""
    from eval.commands.sensitivity_text import print_edit
    from eval.sensitivity import edit

    new = _new_text(text, file_path)
    with _Bench(requests_path, settings) as bench:
        report = edit(
            bench.roster, skill, new, bench.turns, bench.pick, bench.routers.router,
            near=near or None, everything=everything,
        )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_edit(report)


class _Bench:
    """Roster, requests and who picks, from the options."""

    def __init__(self, requests_path: str | None, settings: dict[str, Any]) -> None:
        from eval.commands.bench_agent import AgentOptions
        from eval.data import load_turns
        from eval.paths import requests_folder
        from eval.sensitivity import RouterPicks

        router_keys = ("thresholds", "encoder", "heads", "cache", "reranker", "judge")
        loading = [settings.pop(key) for key in router_keys]
        path, duplicates = settings.pop("roster_path"), settings.pop("duplicates")
        # What concerns the arms of a benchmark has no option here.
        unset = dict.fromkeys(AgentOptions.model_fields)
        self._options = AgentOptions.model_validate({**unset, **settings})
        self._options.check()
        if path is not None and requests_path is None:
            raise click.UsageError("--roster needs --requests: the labelled turns for that roster")
        self.roster: Roster = load_roster(path, duplicates)
        requests = requests_path or requests_folder() / "bundled.jsonl"
        self.turns: list[LabelledTurn] = load_turns(requests, self.roster.names)
        self.routers: RouterPicks = RouterPicks(lambda roster: load_router(roster, *loading))
        self.pick: Picker = self.routers
        self._asking: Any = None
        self._ask: StoredAsk | None = None

    @property
    def has_agent(self) -> bool:
        return self._options.agent is not None

    def __enter__(self) -> _Bench:
        if self.has_agent:
            self._asking = self._agent_picks()
            self.pick = self._asking.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._asking is not None:
            self._asking.__exit__(*error)

    @contextmanager
    def _agent_picks(self) -> Iterator[Picker]:
        from eval.agents.store import ResultStore
        from eval.sensitivity import AgentPicks
        from eval.sensitivity.asking import StoredAsk

        with ResultStore(self._options.store_path()) as store:
            agent = self._options.make_agent(store)
            ask = StoredAsk(agent, store)
            yield AgentPicks(self.routers, agent.model, ask, agent.endpoint)
            click.echo(f"{ask.live} live answers, {ask.replayed} replayed", err=True)


def _refuse_blocks(variants: Sequence[Any]) -> None:
    for variant in variants:
        if variant.block is not None:
            raise click.UsageError(
                f"variant {variant.name!r} rewords the block, which only an agent reads: give "
                "--agent"
            )


def _new_text(text: str | None, path: str | None) -> str:
    if (text is None) == (path is None):
        raise click.UsageError("give the new description by --text or --file")
    if text is not None:
        return text.strip()
    try:
        return Path(str(path)).expanduser().read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path}: is not UTF-8 text (byte {error.start})") from error
