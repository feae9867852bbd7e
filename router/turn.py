"""What the router is asked about: one user turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, field_validator

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

MAX_TEXT = 4_000
"""Characters of a request that are read; of a longer one, the two ends."""


class Turn(BaseModel):
    """One turn of a conversation, before the agent answers it.

    Attributes:
        request: The user's newest message. May be empty: then there is nothing to suggest.
        recent_context: Earlier messages, oldest first. They count, less than the request.
        allowed_tools: Tools the agent may use this turn; None when that is unknown, and then no
            skill is ruled out for its requirements.
        loaded: Names of skills the session has loaded already; they are not suggested again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: str
    recent_context: tuple[str, ...] = ()
    allowed_tools: frozenset[str] | None = None
    loaded: frozenset[str] = frozenset()

    @field_validator("recent_context", mode="before")
    @classmethod
    def _context_is_a_list(cls, value: object) -> object:
        # A bare string is a sequence of characters to pydantic; it is one message to a caller.
        if value is None:
            return ()
        return (value,) if isinstance(value, str) else value

    @property
    def request_text(self) -> str:
        """The request as it is scored: printable, at most `MAX_TEXT` characters."""
        return readable(self.request)

    @property
    def context_text(self) -> str:
        """The recent context as it is scored, newest message last; "" when there is none."""
        return context_tail(self.recent_context)


def readable(text: str, limit: int = MAX_TEXT) -> str:
    """A text without control characters or lone surrogates, its middle left out when long.

    Args:
        text: Any text, of any length.
        limit: Most characters kept. People put the question before or after what they paste: of a
            longer text two thirds of the limit are kept from the start, one third from the end.

    Returns:
        The readable text, stripped.
    """
    if len(text) > limit:
        head = limit * 2 // 3
        text = f"{text[:head]} {text[-(limit - head) :]}"
    return _CONTROL.sub(" ", text).strip()


def context_tail(messages: Sequence[str], limit: int = 600) -> str:
    """The end of a conversation as one text of about `limit` characters, newest message last."""
    kept: list[str] = []
    room = limit
    for message in reversed(messages):
        if room <= 0:
            break
        text = readable(message, limit=room)
        if text:
            kept.append(text)
            room -= len(text)
    return "\n".join(reversed(kept))


def as_turn(
    request: str | Turn,
    recent_context: Sequence[str],
    allowed_tools: Iterable[str] | None,
    loaded: Iterable[str],
) -> Turn:
    """The turn that the arguments of `Router.suggest` describe; a `Turn` is passed through."""
    if isinstance(request, Turn):
        return request
    return Turn(
        request=request,
        recent_context=recent_context,  # type: ignore[arg-type]  # validated by the model
        allowed_tools=None if allowed_tools is None else _names(allowed_tools),
        loaded=_names(loaded),
    )


def _names(value: Iterable[str] | None) -> frozenset[str]:
    """Names as a set; one name given bare is one name, not its letters."""
    return frozenset([value] if isinstance(value, str) else value or ())
