"""Bands for tests."""

from __future__ import annotations

from router.cascade import Band, Doubt
from router.cascade.doubt import COLUMNS, Logistic


def logistic(bias: float = 0.0, **weights: float) -> Logistic:
    """A regression on a few columns, their colons as underscores."""
    given = {name.replace("_", ":", 1): weight for name, weight in weights.items()}
    assert set(given) <= set(COLUMNS)
    return Logistic(weights=tuple(given.get(name, 0.0) for name in COLUMNS), bias=bias)


def band(speaks: float = 0.5, silent: float = 0.5) -> Band:
    """Unsure of a suggestion whose skill does not stand alone with 0.7, and of silence about one
    that fits with more than 0.1."""
    doubt = Doubt(
        speaks=logistic(14.0, fit_alone=-20.0),
        silent=logistic(-2.0, fit_chance=20.0),
    )
    return Band(speaks=speaks, silent=silent, doubt=doubt)


ALWAYS = band(0.0, 0.0)
NEVER = Band(speaks=1.0, silent=1.0, doubt=Doubt(speaks=logistic(-9.0), silent=logistic(-9.0)))
