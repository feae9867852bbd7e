"""The end of an agent's transcript: what was said last, which skills were loaded.

Standard library only. Read are the transcripts of Claude Code and of Codex, both JSON Lines; what
is not understood is skipped.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_BYTES = 1 << 20
"""Bytes read from the end of a transcript. A skill that was loaded further back than that has as a
rule left the agent's context as well."""

MAX_MESSAGES = 6
"""Earlier messages passed on as recent context."""

MAX_MESSAGE = 2_000
"""Characters of one message that are passed on: its end is cut off."""

_MARKS = (b"SKILL.md", b'"Skill"', b"<command-name>", b"<skill>")
_MAX_LINE = 200_000
_MAX_READ = 8_000
_SKILL_FILE = re.compile(r"[/\\]SKILL\.md", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[/\\\s\"'`<>|;:*?]")
_COMMAND_NAME = re.compile(r"<command-name>/?([\w:.-]{1,128})</command-name>")
_CODEX_SKILL = re.compile(r"\s*<skill>\s*<name>([^<\s]{1,128})</name>")
_INSERTED = re.compile(r"<(system-reminder|skill_relevance)>.*?</\1>", re.DOTALL)
# Lines an agent writes into the conversation itself; nobody said them.
_MACHINE = re.compile(
    r"\s*<(?:command-|local-command|user_instructions|environment_context|skill>|turn_aborted|"
    r"task-notification|bash-|user-memory)"
)


class Tail(NamedTuple):
    """What the end of a transcript says.

    Attributes:
        messages: What user and agent said last, oldest first.
        loaded: Names of skills that were loaded.
    """

    messages: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()


def read_tail(path: str | None) -> Tail:
    """Read the end of a transcript. Never raises: without a readable one the tail is empty.

    Args:
        path: The transcript, or None.

    Returns:
        What it says. At most `MAX_BYTES` are read, however large it is, and only of a regular
        file.
    """
    if not path:
        return Tail()
    try:
        lines = _last_lines(path)
    except (OSError, ValueError):
        return Tail()
    messages: list[str] = []
    loaded: dict[str, None] = {}
    for line in reversed(lines):
        wanted = len(messages) < MAX_MESSAGES and len(line) <= _MAX_LINE
        # Most of a transcript is output of tools: nothing is parsed that cannot matter.
        if not wanted and not any(mark in line for mark in _MARKS):
            continue
        for role, text, names in _entries(line):
            loaded.update(dict.fromkeys(names))
            said = _INSERTED.sub("", text[:_MAX_READ]).strip()
            if role and said and wanted and len(messages) < MAX_MESSAGES:
                messages.append(said[:MAX_MESSAGE])
    return Tail(tuple(reversed(messages)), tuple(reversed(loaded)))


def _last_lines(path: str) -> list[bytes]:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return []
        start = max(0, status.st_size - MAX_BYTES)
        os.lseek(handle, start, os.SEEK_SET)
        chunks: list[bytes] = []
        left = MAX_BYTES
        while left > 0 and (chunk := os.read(handle, left)):
            chunks.append(chunk)
            left -= len(chunk)
    finally:
        os.close(handle)
    lines = b"".join(chunks).split(b"\n")
    return lines[1:] if start else lines  # the first one is cut in two


def _entries(line: bytes) -> Iterator[tuple[str, str, list[str]]]:
    """What one line says: role ("" when nobody speaks), text, names of skills it loads."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(entry, dict) or entry.get("isSidechain"):
        return
    if entry.get("type") in ("user", "assistant"):
        yield from _of_claude(entry)
    elif entry.get("type") == "response_item":
        yield from _of_codex(entry.get("payload"))


def _of_claude(entry: dict[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    message = entry.get("message")
    if not isinstance(message, dict):
        return
    role = str(entry["type"])
    spoken: list[str] = []
    names: list[str] = []
    for text in _texts(message.get("content")):
        names += _COMMAND_NAME.findall(text) if role == "user" else []
        spoken.append("" if _MACHINE.match(text) else text)
    for block in _blocks(message.get("content")):
        given = block.get("input")
        if block.get("type") == "tool_use" and isinstance(given, dict):
            names += _loaded_by(block.get("name"), given)
    yield ("" if entry.get("isMeta") else role), "\n".join(spoken), names


def _loaded_by(tool: object, given: dict[str, Any]) -> list[str]:
    """The skill that a tool of Claude Code loads: by name, or by reading its file."""
    if tool == "Skill":
        name = given.get("skill") or given.get("command") or given.get("name")
        return [name.strip().lstrip("/")[:128]] if isinstance(name, str) and name.strip() else []
    path = given.get("file_path")
    return _folders_read(path[-1000:]) if tool == "Read" and isinstance(path, str) else []


def _folders_read(text: str) -> list[str]:
    """Names of the folders whose SKILL.md a text names."""
    before = _SKILL_FILE.split(text)[:-1]
    names = (_NOT_IN_NAMES.split(part[-128:])[-1] for part in before)
    return [name for name in names if name]


def _of_codex(payload: object) -> Iterator[tuple[str, str, list[str]]]:
    if not isinstance(payload, dict):
        return
    kind = payload.get("type")
    if kind == "message" and payload.get("role") in ("user", "assistant"):
        spoken: list[str] = []
        names: list[str] = []
        for text in _texts(payload.get("content")):
            names += _CODEX_SKILL.findall(text[:400])
            spoken.append("" if _MACHINE.match(text) else text)
        yield str(payload["role"]), "\n".join(spoken), names
    elif kind in ("function_call", "local_shell_call", "custom_tool_call"):
        called = json.dumps([payload.get("arguments"), payload.get("action"), payload.get("input")])
        yield "", "", _folders_read(called[:20_000])


def _blocks(content: object) -> list[dict[str, Any]]:
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    kinds = ("text", "input_text", "output_text")
    texts = (block.get("text") for block in _blocks(content) if block.get("type") in kinds)
    return [text for text in texts if isinstance(text, str)]
