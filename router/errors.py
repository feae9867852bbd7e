"""Errors of a wrong setup. A turn itself never raises: it gives no suggestion instead."""

from __future__ import annotations


class RouterError(ValueError):
    """The router cannot be set up as asked; the message names the cause and the remedy."""


class ThresholdsError(RouterError):
    """A thresholds file that cannot be used."""


class EncoderError(RouterError):
    """An encoder that cannot be loaded."""


class WeightsError(RouterError):
    """Learned numbers that are missing, damaged or belong to another encoder."""
