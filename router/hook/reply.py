"""From the router's decision to what the hook tells the agent. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_CONTEXT = 10_000
"""Most characters an agent takes from a hook."""


def hook_reply(answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The hook's output for an answer of the service.

    Args:
        answer: ``name`` and ``block`` of a decision, as `/v1/suggest` answers; or None.

    Returns:
        The JSON object to print, or None when there is nothing to say. What a hook says stays in
        the conversation, so it only speaks to suggest a skill: "no skill fits" is not said.
    """
    if not answer or not isinstance(answer.get("name"), str):
        return None
    block = answer.get("block")
    if not isinstance(block, str) or not 0 < len(block.strip()) <= MAX_CONTEXT:
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": block.strip(),
        }
    }
