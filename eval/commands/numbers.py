"""Option types for numbers. click's own ranges let "nan" pass: it is not below any bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import click


def number(least: float, most: float, above: bool = False) -> Callable[[str | float], float]:
    """An option type: a number in a range.

    Args:
        least: Lowest number.
        most: Highest number.
        above: Whether the lowest is not allowed itself.
    """

    def convert(value: str | float) -> float:
        try:
            given = float(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is not a number") from None
        low_enough = given > least if above else given >= least
        if math.isnan(given) or not low_enough or given > most:
            edge = f"above {least:g}" if above else f"{least:g}"
            raise click.BadParameter(f"{value} is not in the range {edge} to {most:g}")
        return given

    return convert


def number_list(least: int, most: int) -> Callable[[str], tuple[int, ...]]:
    """An option type: whole numbers separated by commas, each in a range."""

    def convert(value: str) -> tuple[int, ...]:
        try:
            numbers = sorted({int(part) for part in value.split(",")})
        except ValueError:
            raise click.BadParameter(f"{value!r} is not a list such as 1,2,3") from None
        if not all(least <= number <= most for number in numbers):
            raise click.BadParameter(f"each number must be {least} to {most}")
        return tuple(numbers)

    return convert


def price_pair(value: str) -> tuple[float, float]:
    """An option type: two prices separated by a comma, such as 1,5."""
    convert = number(0.0, 1e6)
    parts = value.split(",")
    if len(parts) != 2:
        raise click.BadParameter(f"{value!r} is not two prices such as 1,5")
    return convert(parts[0]), convert(parts[1])


def share_option(value: str) -> float:
    """An option type: a share such as 0.02 or 2%, within 0..1."""
    from eval.cost.procedures import share

    try:
        given = share(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if not isinstance(given, float) or not 0.0 <= given <= 1.0:
        raise click.BadParameter("a share is 0 to 1, or 0% to 100%")
    return given
