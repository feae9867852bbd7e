"""What a prompt carries, and how it is used."""

from __future__ import annotations

import math
import re
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def share(value: object) -> object:
    """A share as people write it: ``"2%"`` or ``"2 %"`` is 0.02; anything else stays."""
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", value)
        if found:
            return float(found.group(1)) / 100.0
        try:
            return float(value)
        except ValueError:
            raise ValueError("give a share such as 0.02 or 2%") from None
    return value


Share = Annotated[float, BeforeValidator(share), Field(ge=0.0, le=1.0)]
Tokens = Annotated[float, Field(ge=0.0, le=1e9)]
Seconds = Annotated[float, Field(ge=0.0, le=1e5)]

DESCRIPTION_TOKENS = 50
"""A description of one sentence."""


class Procedure(BaseModel):
    """A procedure that stands in the prompt, or could become a skill.

    Attributes:
        name: What it is called.
        tokens: Length of the procedure.
        share: Share of calls that need it, 0..1; in files also ``"2%"``.
        description: Tokens of the description that would stay in the prompt; None takes the
            default of the use.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    tokens: Tokens
    share: Share
    description: Tokens | None = None


class Use(BaseModel):
    """How an assistant is used, and what its model costs and takes.

    Attributes:
        calls_per_day: Calls a day.
        stays: Tokens of the prompt that stay whatever moves (role, rules, output format).
        context: Tokens that are read again when a body is loaded: prompt, request, history.
        description: Tokens of a description when a procedure does not say.
        price_per_million: Price of a million input tokens that are not cached; None leaves
            money out.
        cached_factor: Price of a cached input token as a share of an uncached one, when the
            prompt is cached today; None when it is not.
        first_token_seconds: Seconds until the first token of an answer.
        tokens_per_second: Output tokens a second.
        load_call_tokens: Output tokens of the call that loads a skill.
        latency_p50: Median seconds of a call today; with `latency_p95`, the new 95th percentile
            is estimated and not only bounded.
        latency_p95: 95th percentile of the seconds of a call today.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls_per_day: Annotated[float, Field(ge=0.0, le=1e12)]
    stays: Tokens = 0.0
    context: Tokens = 3_000.0
    description: Tokens = float(DESCRIPTION_TOKENS)
    price_per_million: Annotated[float, Field(ge=0.0, le=1e6)] | None = None
    cached_factor: Share | None = None
    first_token_seconds: Seconds = 1.0
    tokens_per_second: Annotated[float, Field(gt=0.0, le=1e6)] = 50.0
    load_call_tokens: Tokens = 25.0
    latency_p50: Annotated[float, Field(gt=0.0, le=1e5)] | None = None
    latency_p95: Annotated[float, Field(gt=0.0, le=1e5)] | None = None

    @model_validator(mode="after")
    def _both_percentiles(self) -> Self:
        if (self.latency_p50 is None) != (self.latency_p95 is None):
            raise ValueError("give latency_p50 and latency_p95 together, or neither")
        if self.latency_p50 and self.latency_p95 and self.latency_p95 < self.latency_p50:
            raise ValueError("latency_p95 cannot be below latency_p50")
        return self

    @property
    def load_seconds(self) -> float:
        """Seconds that loading a body adds to a call: a first token and the call itself."""
        return self.first_token_seconds + self.load_call_tokens / self.tokens_per_second

    def description_of(self, procedure: Procedure) -> float:
        """Tokens of a procedure's description."""
        given = procedure.description
        return self.description if given is None else given

    def money(self, tokens: float) -> float | None:
        """Price of uncached input tokens, or None without a price."""
        if self.price_per_million is None or not math.isfinite(tokens):
            return None
        return tokens * self.price_per_million / 1e6
