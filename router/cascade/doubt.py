"""How likely a local decision is a mistake, learned from what the local judge returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from router.local.features import REREAD_NAMES
from router.local.wording import WORDING_NAMES
from router.suggestion import Reason, Suggestion

DECIDED = (
    "gate:closed",
    "gate:need",
    "gate:acts",
    "gate:procedure",
    "gate:prose",
    "wide:first",
    "wide:three",
    "wide:gap_second",
    "wide:gap_third",
    "wide:entropy",
    "wide:gap_winner",
    "wide:overruled",
    "fit:best",
    "fit:second",
    "fit:third",
    "fit:gap",
    "fit:chance",
    "fit:alone",
)
"""Columns that every judge's suggestion has."""

SEEN = (*REREAD_NAMES, *WORDING_NAMES)
"""What the local judge tells of the skill that fits best."""

COLUMNS = (*DECIDED, *(f"best:{name}" for name in SEEN))
"""The columns of `evidence`: then what the local judge saw of the skill that fits best."""

_SMALLEST = 1e-6
_PLACES = 10

_SPEAKS = frozenset({Reason.SUGGESTED, Reason.ALREADY_LOADED, Reason.INELIGIBLE})


class Logistic(BaseModel):
    """A logistic regression on `COLUMNS`.

    Attributes:
        weights: One weight a column.
        bias: Added to the sum.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    weights: tuple[float, ...]
    bias: float

    def __call__(self, columns: Sequence[float]) -> float:
        """The probability, 0..1."""
        products = (w * c for w, c in zip(self.weights, columns, strict=True))
        logit = self.bias + math.fsum(products)
        # Beyond this the exponential overflows, and nothing changes any more.
        return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, logit))))


class Doubt(BaseModel):
    """The probability that a decision is a mistake, for both kinds of decision.

    A suggestion is wrong when another skill or none was right; silence is wrong when a skill was.
    The same evidence speaks for one and against the other, so each has numbers of its own.

    Attributes:
        columns: Names of the columns, in order.
        ordinary: A usual value of each, which stands for what a judge does not tell.
        speaks: For a decision that found a skill.
        silent: For a decision that found none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[str, ...] = Field(default=COLUMNS)
    ordinary: tuple[float, ...] = (0.0,) * len(COLUMNS)
    speaks: Logistic
    silent: Logistic

    @model_validator(mode="after")
    def _is_of_this_version(self) -> Self:
        if self.columns != COLUMNS:
            raise ValueError("was learned on other columns than this version computes")
        lists = (self.ordinary, self.speaks.weights, self.silent.weights)
        if any(len(numbers) != len(COLUMNS) for numbers in lists):
            raise ValueError(f"needs {len(COLUMNS)} weights and ordinary values, one a column")
        return self

    def __call__(self, suggestion: Suggestion) -> float | None:
        """The probability that a decision is a mistake, 0..1; None without evidence."""
        columns = evidence(suggestion)
        if columns is None:
            return None
        known = [o if math.isnan(c) else c for c, o in zip(columns, self.ordinary, strict=True)]
        return (self.speaks if speaks(suggestion) else self.silent)(known)


def speaks(suggestion: Suggestion) -> bool:
    """Whether a decision found a skill, even if the turn may not or need not load it."""
    return suggestion.reason in _SPEAKS


def evidence(suggestion: Suggestion) -> tuple[float, ...] | None:
    """What a suggestion tells about its own certainty, columns as in `COLUMNS`.

    Args:
        suggestion: The suggestion. When its gate is closed, with a reread of the shortlist all the
            same (`Router.read_anyway`).

    Returns:
        Finite numbers: probabilities as logits, ratios as logarithms, both cut off at
        `1e-6`; NaN for what the judge does not tell. None when the gate or the shortlist was not
        read.
    """
    gate, reread = suggestion.gate, suggestion.reread
    if gate is None or reread is None or not reread.fits or not suggestion.ranking.entries:
        return None
    wide = [max(p, _SMALLEST) for _, p in suggestion.ranking.entries[:_PLACES]]
    wide += [_SMALLEST] * (3 - len(wide))
    choice = reread.choice or reread.fits
    winner = max(choice, key=lambda name: choice[name])
    place = dict(suggestion.ranking.entries[:_PLACES])
    fits = sorted(reread.fits.values(), reverse=True)
    fits += [0.0] * (3 - len(fits))
    best, second, third = (_logit(fit) for fit in fits[:3])
    seen = reread.evidence
    if len(seen) != len(SEEN) or not all(map(math.isfinite, seen)):
        seen = (math.nan,) * len(SEEN)
    return (
        float(suggestion.reason is Reason.GATE),
        gate.need,
        _logit(gate.acts_on_system),
        _logit(gate.documented_procedure),
        _logit(gate.prose_suffices),
        wide[0],
        sum(wide[:3]),
        math.log(wide[0] / wide[1]),
        math.log(wide[0] / wide[2]),
        -sum(p * math.log(p) for p in wide),
        math.log(wide[0] / max(place.get(winner, 0.0), _SMALLEST)),
        float(winner != suggestion.ranking.entries[0][0]),
        best,
        second,
        third,
        best - second,
        fits[0],
        fits[0] * (1.0 - fits[1]),
        *seen,
    )


def _logit(probability: float) -> float:
    p = min(max(probability, _SMALLEST), 1.0 - _SMALLEST)
    return math.log(p / (1.0 - p))
