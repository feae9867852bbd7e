"""`skill-router cost`: what procedures cost in the prompt, and as skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from eval.commands.numbers import number, share_option
from router.cli import print_json
from router.commands.options import load_roster

if TYPE_CHECKING:
    from eval.cost import Cost, Procedure, Use

_TOKENS = number(0.0, 1e9)
_SECONDS = number(0.0, 1e5)
_TIME = number(0.0, 1e5, above=True)


@click.command()
@click.option("--procedures", metavar="FILE", help="A TOML file of procedures and their use.")
@click.option("--body", type=_TOKENS, metavar="TOKENS", help="One procedure: its length.")
@click.option(
    "--share",
    type=share_option,
    metavar="SHARE",
    help="One procedure: share of calls that need it.",
)
@click.option(
    "--log", metavar="FILE", help="Estimate from a roster and this log of suggestions (JSON Lines)."
)
@click.option("--roster", "roster_path", metavar="PATH", help="With --log.  [default: bundled]")
@click.option(
    "--duplicates",
    type=click.Choice(["error", "first", "namespace"]),
    default="error",
    help="With --log: what to do with skills of one name.",
)
@click.option(
    "--characters-per-token",
    type=number(0.1, 100.0),
    metavar="N",
    default=4.0,
    show_default=True,
    help="With --log.",
)
@click.option(
    "--width", type=click.IntRange(1), help="With --log: characters of a description in the prompt."
)
@click.option("--calls", type=number(0.0, 1e12), metavar="N", help="Calls a day.")
@click.option(
    "--stays",
    type=_TOKENS,
    metavar="TOKENS",
    help="Tokens of the prompt that stay anyway.  [default: 0]",
)
@click.option(
    "--description", type=_TOKENS, metavar="TOKENS", help="Tokens of a description.  [default: 50]"
)
@click.option(
    "--context", type=_TOKENS, metavar="TOKENS", help="Tokens a load reads again.  [default: 3000]"
)
@click.option(
    "--price", type=number(0.0, 1e6), metavar="N", help="Price of a million input tokens."
)
@click.option(
    "--cached-factor",
    type=share_option,
    metavar="SHARE",
    help="The prompt is cached today: price of a cached token as a share of an uncached one.",
)
@click.option(
    "--first-token", type=_SECONDS, metavar="S", help="Seconds to the first token.  [default: 1]"
)
@click.option("--speed", type=_TIME, metavar="N", help="Output tokens a second.  [default: 50]")
@click.option(
    "--load-call",
    type=_TOKENS,
    metavar="TOKENS",
    help="Output tokens of a load call.  [default: 25]",
)
@click.option("--p50", type=_TIME, metavar="N", help="Median seconds of a call today.")
@click.option(
    "--p95", type=_TIME, metavar="N", help="95th percentile of the seconds of a call today."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def cost(
    procedures: str | None,
    body: float | None,
    share: float | None,
    log: str | None,
    roster_path: str | None,
    duplicates: str,
    characters_per_token: float,
    width: int | None,
    calls: float | None,
    as_json: bool,
    **numbers: float | None,
) -> None:
    """Compare procedures in the prompt with the same procedures as skills.

    Give --procedures FILE, or one procedure by --body and --share, or a --log of suggestions.
    Figures are tokens; a description is paid on every call, a body on the calls that load it.
    """
    from eval.cost import Procedure, cost, estimate, read_procedures, use_of

    given = {"calls_per_day": calls, **{_FIELDS[name]: n for name, n in numbers.items()}}
    values: dict[str, Any] = {name: number for name, number in given.items() if number is not None}
    sources = [procedures is not None, body is not None or share is not None, log is not None]
    if sum(sources) != 1:
        raise click.UsageError("give one of --procedures, --body with --share, or --log")
    if log is None and roster_path is not None:
        raise click.UsageError("--roster needs --log: how often each skill is suggested")
    if procedures is not None:
        items, use = read_procedures(procedures, values)
    else:
        if calls is None:
            raise click.UsageError("give --calls: calls a day")
        use = use_of(values, "the command line")
        if log is not None:
            roster = load_roster(roster_path, duplicates)
            items, _ = estimate(roster, log, characters_per_token, width)
        elif body is None or share is None:
            raise click.UsageError("--body and --share belong together")
        else:
            items = [Procedure(name="procedure", tokens=body, share=share)]
    result = cost(items, use)
    if as_json:
        print_json({"use": use.model_dump(), **result.model_dump(mode="json")})
    else:
        _print(items, use, result)


_FIELDS = {
    "stays": "stays",
    "description": "description",
    "context": "context",
    "price": "price_per_million",
    "cached_factor": "cached_factor",
    "first_token": "first_token_seconds",
    "speed": "tokens_per_second",
    "load_call": "load_call_tokens",
    "p50": "latency_p50",
    "p95": "latency_p95",
}

_SHOWN = 40


def short(tokens: float) -> str:
    """Tokens as people say them: 832, 4,124, 304k, 16.5M."""
    if round(tokens) == 0:  # never "-0"
        return "0"
    if abs(tokens) >= 999_500:
        return f"{tokens / 1e6:,.1f}M"
    if abs(tokens) >= 9_999.5:
        return f"{tokens / 1e3:,.0f}k"
    return f"{tokens:,.0f}"


def _print(items: list[Procedure], use: Use, result: Cost) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from roster.text import one_line, visible

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:  # a pipe has no width: names stay in one piece
        console.width = 140
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("procedure", overflow="fold", min_width=18)
    columns = ["tokens", "share", "saved a call", "saved a day", "trips a day", "net a day",
               "break even", "better as"]  # fmt: skip
    for column in columns:
        table.add_column(column, justify="right")
    shown = sorted(result.procedures, key=lambda one: -abs(one.net_per_day))
    if len(shown) <= _SHOWN:
        shown = list(result.procedures)
    for one in shown[:_SHOWN]:
        net = one.net_per_day if one.cached_net_per_day is None else one.cached_net_per_day
        even = one.break_even if one.cached_break_even is None else one.cached_break_even
        table.add_row(
            Text(visible(one_line(one.name))), short(one.tokens), f"{one.share:.1%}",
            short(one.saving_per_call), short(one.saving_per_day), short(one.round_trip_per_day),
            short(net), f"{even:.0%}", one.place.value,
        )  # fmt: skip
    console.print(table)
    if len(shown) > _SHOWN:
        console.print(f"... and {len(shown) - _SHOWN} more; --json lists all")
    print_totals(console.print, use, result)


def print_totals(say: Any, use: Use, result: Cost) -> None:
    """Print what all procedures come to, one fact a line."""
    say(
        f"read {short(result.carried_per_day)} tokens of procedure a day for "
        f"{short(result.used_per_day)} used ({short(result.carried_per_call)} a call, "
        f"{short(result.weighted_per_call)} needed)"
    )
    say(
        f"prompt {short(result.prompt_before)} -> {short(result.prompt_after)} tokens; saves "
        f"{short(result.saving_per_call)} a call, {short(result.saving_per_day)} a day"
    )
    say(
        f"round trips: {result.loading_share:.1%} of calls load, {short(result.loads_per_day)} a "
        f"day, {short(result.round_trip_per_day)} tokens read again; net "
        f"{short(result.net_per_day)} a day"
    )
    if result.cached_net_per_day is not None:
        say(
            f"the prompt is cached at {use.cached_factor:g} of the price: the net is worth "
            f"{short(result.cached_net_per_day)} uncached tokens a day"
        )
    if result.money_per_day is not None:
        say(f"price of the net: {result.money_per_day:,.2f} a day")
    latency = result.latency
    tail = "more" if latency.past_tail else "no more"
    say(
        f"a load adds {latency.load_seconds:.1f} s; {tail} calls load than lie above the 95th "
        f"percentile, which can rise by up to {latency.p95_rises_at_most:.1f} s"
    )
    if latency.p95_after is not None and latency.p95_before is not None:
        say(
            f"estimated 95th percentile: {latency.p95_before:.2f} s -> {latency.p95_after:.2f} s "
            "(log-normal times, loads independent of them)"
        )
