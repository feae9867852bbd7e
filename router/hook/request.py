"""From what an agent tells its hook to what the router is asked. Standard library only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from router.hook.places import skill_layers
from router.hook.transcript import MAX_MESSAGE, read_tail

MAX_INPUT = 4 << 20
"""Largest input of a hook that is read, in bytes."""

MAX_PROMPT = 400_000
"""Longest prompt, in characters, that is passed on; of a longer one, the two ends."""

# "/review the diff" is a command; "/usr/bin is missing" is a path and "/ is full" is neither.
_COMMAND = re.compile(r"\s*/[A-Za-z][\w:.-]*(?:\s|$)")
# Codex: "$name" puts the skill into the conversation itself.
_MENTION = re.compile(r"(?<![\w$])\$([A-Za-z0-9][\w.:-]{0,127})")


def parse_payload(data: bytes) -> dict[str, Any] | None:
    """The JSON object that an agent writes to its hook, or None when it is none."""
    try:
        value = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def agent_of(payload: Mapping[str, Any]) -> str:
    """Which agent runs the hook, judged by where it keeps the transcript: "claude" or "codex"."""
    path = payload.get("transcript_path")
    if isinstance(path, str) and ("/.codex/" in path or "/rollout-" in path):
        return "codex"
    return "claude"


def suggest_request(
    payload: Mapping[str, Any],
    agent: str | None = None,
    roster: str | None = None,
    project: str | None = None,
) -> dict[str, Any] | None:
    """The request for the service (`/v1/suggest`) that a hook's input stands for.

    Args:
        payload: The input: ``prompt``, ``cwd``, ``session_id``, ``transcript_path``. It may lack
            any of them and hold more; a value of the wrong type counts as missing.
        agent: "claude" or "codex"; by default judged by the payload.
        roster: A folder of skills to use instead of those the agent finds.
        project: The folder the agent was started in, when that is known.

    Returns:
        A JSON object with ``request``, ``recent_context``, ``loaded``, ``roster``, ``session``; or
        None when there is nothing to ask: another event, no prompt, a slash command, no skills.
    """
    event = payload.get("hook_event_name")
    prompt = payload.get("prompt")
    if event not in (None, "UserPromptSubmit") or not isinstance(prompt, str):
        return None
    if not prompt.strip() or _COMMAND.match(prompt):
        return None
    agent = agent or agent_of(payload)
    cwd = payload.get("cwd")
    here = cwd if isinstance(cwd, str) else None
    folders = [roster] if roster else skill_layers(agent, here, project)
    if not folders:
        return None
    transcript = payload.get("transcript_path")
    tail = read_tail(transcript) if isinstance(transcript, str) else read_tail(None)
    loaded = dict.fromkeys(tail.loaded)
    if agent == "codex":
        loaded.update(dict.fromkeys(_MENTION.findall(prompt[:MAX_PROMPT])))
    # Reading a plugin's SKILL.md loads plugin:skill, and only the folder's name was seen.
    prefixes = dict.fromkeys(each["prefix"] for each in folders if not isinstance(each, str))
    plain = [name for name in loaded if ":" not in name]
    loaded.update(dict.fromkeys(f"{prefix}:{name}" for name in plain for prefix in prefixes))
    session = payload.get("session_id")
    # The agent may have written the prompt to the transcript before it runs the hook.
    context = list(tail.messages)
    if context and context[-1].strip() == prompt.strip()[:MAX_MESSAGE].strip():
        context.pop()
    return {
        "request": _two_ends(prompt),
        "recent_context": context,
        "loaded": list(loaded)[:1000],
        "roster": folders,
        "session": session[:256] if isinstance(session, str) else None,
    }


def _two_ends(text: str) -> str:
    if len(text) <= MAX_PROMPT:
        return text
    half = MAX_PROMPT // 2 - 1
    return f"{text[:half]} {text[-half:]}"
