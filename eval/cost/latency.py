"""What loading bodies does to the 95th percentile of the time of a call."""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict
from scipy.optimize import brentq
from scipy.stats import lognorm, norm

from eval.cost.procedures import Use

QUANTILE = 0.95


class Latency(BaseModel):
    """The effect on latency.

    Attributes:
        load_seconds: Seconds a load adds to its call.
        loading_share: Share of calls with a load.
        p95_rises_at_most: Most seconds by which the 95th percentile can rise, whichever calls the
            loads hit; 0 only when nothing loads.
        past_tail: Whether more calls load than lie above the 95th percentile; below that, the
            percentile moves only as far as loads hit the calls near it.
        p95_before: The 95th percentile today, when it was given.
        p95_after: Its estimate with loads: times are taken as log-normal through the given median
            and 95th percentile, and loads as independent of them. None when they were not given.
    """

    model_config = ConfigDict(frozen=True)

    load_seconds: float
    loading_share: float
    p95_rises_at_most: float
    past_tail: bool
    p95_before: float | None
    p95_after: float | None


def latency_effect(share: float, use: Use) -> Latency:
    """The effect when a share of calls loads a body.

    Args:
        share: Share of calls that load, 0..1.
        use: Times, and the percentiles of today if they are known.
    """
    added = use.load_seconds
    after = None
    if use.latency_p50 is not None and use.latency_p95 is not None:
        after = _mixed_p95(share, added, use.latency_p50, use.latency_p95)
    return Latency(
        load_seconds=added,
        loading_share=share,
        p95_rises_at_most=added if share > 0 else 0.0,
        past_tail=share > 1.0 - QUANTILE + 1e-12,
        p95_before=use.latency_p95,
        p95_after=after,
    )


def _mixed_p95(share: float, added: float, p50: float, p95: float) -> float:
    """95th percentile when a share of calls takes `added` seconds longer."""
    if added <= 0 or share <= 0:
        return p95
    sigma = (math.log(p95) - math.log(p50)) / float(norm.ppf(QUANTILE))
    if sigma < 1e-9:  # every call takes the same time
        return p95 + added if share > 1.0 - QUANTILE else p95
    times = lognorm(s=sigma, scale=p50)

    def excess(seconds: float) -> float:
        below = (1.0 - share) * times.cdf(seconds) + share * times.cdf(seconds - added)
        return float(below) - QUANTILE

    if excess(p95) >= 0:
        return p95
    if excess(p95 + added) <= 0:  # all calls load, and the last bit is rounded down
        return p95 + added
    return float(brentq(excess, p95, p95 + added))
