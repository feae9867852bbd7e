"""The measured agent's prompt: the roster's index, a `skill_view` tool and a few plain ones."""

from __future__ import annotations

from typing import Any

from eval.agents.protocol import AgentRequest
from eval.data import LabelledTurn
from roster import Roster
from roster.text import encodable

SKILL_VIEW = "skill_view"
"""Name of the tool that loads a skill; its calls are what is graded."""

_BEFORE = (
    "You are a capable assistant. You work on the user's computer and online accounts with the "
    "tools you are given.\n\n"
    "# Skills\n"
    "A skill is a written procedure for one kind of task. Below is the index of all skills you "
    "have, one line each. Before you act, look for the skill that covers the user's task. If one "
    f"does, load it with {SKILL_VIEW} before you do anything else, even when you believe that you "
    "know the way: the skill says how it is done here. If none does, go on without one.\n\n"
    "<available_skills>\n"
)
_AFTER = "\n</available_skills>"


def system_prompt(roster: Roster) -> str:
    """The cached part of the system prompt: the same bytes for every turn."""
    return f"{_BEFORE}{roster.prompt()}{_AFTER}"


def agent_request(
    model: str, system: str, turn: LabelledTurn, block: str, endpoint: str | None = None
) -> AgentRequest:
    """The request for one turn in one arm.

    Args:
        model: Model that answers.
        system: Result of `system_prompt`.
        turn: The labelled turn; its label is not sent.
        block: What the arm tells the agent; "" tells nothing. It comes after the cache breakpoint.
        endpoint: Base URL of another server.
    """
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    ]
    if block:
        blocks.append({"type": "text", "text": block})
    return AgentRequest(
        model=model,
        system=tuple(blocks),
        tools=tools(),
        messages=({"role": "user", "content": _content(turn)},),
        endpoint=endpoint,
    )


def _content(turn: LabelledTurn) -> str | list[dict[str, Any]]:
    if not turn.recent_context:
        return encodable(turn.text)
    earlier = encodable("\n\n".join(turn.recent_context))
    return [
        {"type": "text", "text": f"Earlier in this conversation:\n\n{earlier}"},
        {"type": "text", "text": encodable(turn.text)},
    ]


def tools() -> tuple[dict[str, Any], ...]:
    """The tools of the measured agent."""
    return (
        _tool(SKILL_VIEW, "Load a skill of the index: returns its full text.", "name",
              "The skill's name, exactly as in the index."),
        _tool("terminal", "Run a command in the user's shell; returns what it prints.", "command",
              "The command."),
        _tool("read_file", "Read a file on the user's computer.", "path", "The file's path."),
        _tool("web_search", "Search the web; returns titles and excerpts.", "query", "The query."),
    )  # fmt: skip


def _tool(name: str, description: str, field: str, meaning: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "input_schema": {
            "type": "object",
            "properties": {field: {"type": "string", "description": meaning}},
            "required": [field],
        },
    }
