"""What goes wrong with a store of versions. Every message names the remedy."""

from __future__ import annotations

from roster.text import visible


class StoreError(ValueError):
    """The store cannot be opened, read or written."""

    def __init__(self, message: str) -> None:
        """Write control and hidden characters of names and labels as escapes."""
        super().__init__(visible(message))


class StageRefusedError(StoreError):
    """A source, or a version of the same label with other content, was refused."""


class UnknownVersionError(StoreError):
    """No version of that name and label is in the store."""


class ActivationRefusedError(StoreError):
    """A version was not activated, rolled back or retired; what was active still is."""


class TransferError(StoreError):
    """An export cannot be written, or an import was refused as a whole."""
