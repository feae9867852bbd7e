"""What goes wrong when the encoder is trained."""

from __future__ import annotations


class TrainError(ValueError):
    """A stage that cannot run as asked; the message names the cause and the remedy."""
