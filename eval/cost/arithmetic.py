"""What moving procedures from a prompt into skills saves, per call and per day.

A description is read on every call and a body on the calls that load it; loading is a tool call,
so the context so far is read once more. All figures are input tokens unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from eval.cost.latency import Latency, latency_effect
from eval.cost.procedures import Procedure, Use


class Place(StrEnum):
    """Where a procedure is cheaper."""

    SKILL = "skill"
    PROMPT = "prompt"


class ProcedureCost(BaseModel):
    """One procedure moved by itself.

    Attributes:
        name: The procedure.
        tokens: Its length B.
        description: Tokens d of its description.
        share: Share f of calls that need it.
        weighted: f times B: what the average call uses of it.
        saving_per_call: B - d - f B: the round trip left out.
        saving_per_day: The same for a day.
        round_trip_per_day: f R for a day: the context read again by the calls that load it.
        net_per_day: Saving less round trips, for a day.
        break_even: Share (B - d) / (B + R) up to which a skill is cheaper; 0 when never.
        cached_net_per_day: Net when the prompt is cached today, in uncached tokens of the same
            price; None when it is not.
        cached_break_even: The break-even share then.
        place: Where it is cheaper on tokens, or, with a cached prompt, on their price.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    tokens: float
    description: float
    share: float
    weighted: float
    saving_per_call: float
    saving_per_day: float
    round_trip_per_day: float
    net_per_day: float
    break_even: float
    cached_net_per_day: float | None
    cached_break_even: float | None
    place: Place


class Cost(BaseModel):
    """All procedures moved at once.

    Attributes:
        procedures: Each one moved by itself.
        prompt_before: Tokens of the prompt with every procedure in it.
        prompt_after: Tokens of the prompt with the descriptions instead.
        carried_per_call: Tokens of procedure in every call today.
        weighted_per_call: Tokens of procedure that the average call needs.
        carried_per_day: `carried_per_call` for a day.
        used_per_day: `weighted_per_call` for a day.
        saving_per_call: `prompt_before` - `prompt_after` - `weighted_per_call`.
        saving_per_day: The same for a day.
        loading_share: Share of calls that load a body, when no call loads two; at most 1.
        loads_per_day: Loads a day.
        round_trip_per_day: Context read again, for a day.
        net_per_day: Saving less round trips, for a day.
        cached_net_per_day: Net when the prompt is cached today, in uncached tokens of the same
            price; None when it is not.
        money_per_day: Price of what is saved a day (of the cached prompt, if it is); None without
            a price.
        latency: What loading does to the time of a call.
        calls_per_day: Calls a day.
    """

    model_config = ConfigDict(frozen=True)

    procedures: tuple[ProcedureCost, ...]
    prompt_before: float
    prompt_after: float
    carried_per_call: float
    weighted_per_call: float
    carried_per_day: float
    used_per_day: float
    saving_per_call: float
    saving_per_day: float
    loading_share: float
    loads_per_day: float
    round_trip_per_day: float
    net_per_day: float
    cached_net_per_day: float | None
    money_per_day: float | None
    latency: Latency
    calls_per_day: float


def break_even(tokens: float, description: float, context: float, factor: float = 1.0) -> float:
    """Share of calls up to which a procedure is cheaper as a skill.

    Args:
        tokens: Length B of the procedure.
        description: Tokens d of its description.
        context: Tokens R that a load reads again.
        factor: Price of what is always in the prompt, as a share of an uncached token.

    Returns:
        ``factor (B - d) / (B + R)``, within 0..1; 0 when the description is as long as the body.
    """
    paid = tokens + context
    if tokens <= description or paid <= 0:
        return 0.0
    return min(1.0, factor * (tokens - description) / paid)


def procedure_cost(procedure: Procedure, use: Use) -> ProcedureCost:
    """Cost one procedure moved by itself."""
    b, d, f = procedure.tokens, use.description_of(procedure), procedure.share
    calls, factor = use.calls_per_day, use.cached_factor
    saving = b - d - f * b
    trip = f * use.context
    at = break_even(b, d, use.context)
    cached_at = None if factor is None else break_even(b, d, use.context, factor)
    deciding = at if cached_at is None else cached_at
    cached = None if factor is None else (factor * (b - d) - f * b - trip) * calls
    return ProcedureCost(
        name=procedure.name,
        tokens=b,
        description=d,
        share=f,
        weighted=f * b,
        saving_per_call=saving,
        saving_per_day=saving * calls,
        round_trip_per_day=trip * calls,
        net_per_day=(saving - trip) * calls,
        break_even=at,
        cached_net_per_day=cached,
        cached_break_even=cached_at,
        place=Place.SKILL if f < deciding else Place.PROMPT,
    )


def cost(procedures: Sequence[Procedure], use: Use) -> Cost:
    """Cost all procedures moved at once.

    Args:
        procedures: At least one.
        use: How the assistant is used.
    """
    each = tuple(procedure_cost(procedure, use) for procedure in procedures)
    calls, factor = use.calls_per_day, use.cached_factor
    carried = sum(one.tokens for one in each)
    described = sum(one.description for one in each)
    weighted = sum(one.weighted for one in each)
    saving = carried - described - weighted
    loads = sum(one.share for one in each)
    trips = loads * use.context * calls
    net = saving * calls - trips
    cached = None
    if factor is not None:
        cached = (factor * (carried - described) - weighted) * calls - trips
    return Cost(
        procedures=each,
        prompt_before=use.stays + carried,
        prompt_after=use.stays + described,
        carried_per_call=carried,
        weighted_per_call=weighted,
        carried_per_day=carried * calls,
        used_per_day=weighted * calls,
        saving_per_call=saving,
        saving_per_day=saving * calls,
        loading_share=min(1.0, loads),
        loads_per_day=loads * calls,
        round_trip_per_day=trips,
        net_per_day=net,
        cached_net_per_day=cached,
        money_per_day=use.money(net if cached is None else cached),
        latency=latency_effect(min(1.0, loads), use),
        calls_per_day=calls,
    )
