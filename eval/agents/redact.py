"""What a server says, without the key that a server may repeat in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from router.turn import readable

if TYPE_CHECKING:
    import anthropic


def said_by_server(text: str, client: anthropic.Anthropic, limit: int) -> str:
    """A server's words, fit for a terminal and a file.

    Args:
        text: The words.
        client: The client that asked; its keys are replaced.
        limit: Most characters.
    """
    for key in (client.api_key, client.auth_token):
        if key:
            text = text.replace(key, "[key]")
    return readable(text, limit)
