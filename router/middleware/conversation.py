"""A conversation as every integration hands it over: who said what, which skills were loaded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

LOAD_TOOLS: Mapping[str, tuple[str, ...]] = {
    "load_skill": ("name",),
    "skill_view": ("name",),
    "Skill": ("skill", "command"),
}
"""Tools whose call loads a skill, and the arguments that may name it."""

_BLOCK = re.compile(r"\s*<skill_relevance>[^<]{0,2000}</skill_relevance>\s*\Z")


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes:
        role: Who speaks; "tool" for the results of tools.
        text: What was said in words, without a block of the router.
        print: Digest of all it holds; where a provider's cache ends is not part of it.
        has_block: Whether it ends with a block of the router already.
        calls: Calls that load a skill: identifier of the call to the skill's name.
        failed: Identifiers of calls whose results are errors.
    """

    role: Literal["user", "assistant", "tool", "system"]
    text: str
    print: str
    has_block: bool = False
    calls: Mapping[str, str] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()


def fingerprint(value: Any) -> str:
    """A digest of JSON-like data; ``cache_control`` anywhere in it does not count."""
    text = json.dumps(_bare(value), sort_keys=True, ensure_ascii=True, default=_dumped)
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def chain(messages: Sequence[Message]) -> list[str]:
    """For each message, a digest of the conversation up to and with it."""
    keys = []
    state = hashlib.blake2b(digest_size=16)
    for message in messages:
        state.update(f"{message.role} {message.print}\n".encode())
        keys.append(state.hexdigest())
    return keys


def without_block(text: str) -> tuple[str, bool]:
    """A text without the router's block at its end, and whether there was one."""
    # Only a short tail can be the block: a long text is not searched from its start.
    head, tail = text[:-2_200], text[-2_200:]
    at = tail.rfind("<skill_relevance>")
    if at < 0 or not _BLOCK.match(tail, at):
        return text, False
    return head + tail[:at].rstrip("\n"), True


def skill_named(tool: object, given: object) -> str | None:
    """The skill that a call of a tool loads, or None."""
    if not isinstance(tool, str) or tool not in LOAD_TOOLS or not isinstance(given, Mapping):
        return None
    names = (given.get(key) for key in LOAD_TOOLS[tool])
    return next((name for name in names if isinstance(name, str) and name), None)


def loaded_in(messages: Iterable[Message]) -> frozenset[str]:
    """Names of the skills that were loaded in a conversation, failed calls left out."""
    calls: dict[str, str] = {}
    failed: set[str] = set()
    for message in messages:
        calls.update(message.calls)
        failed |= message.failed
    return frozenset(name for call, name in calls.items() if call not in failed)


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _bare(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value


def _dumped(value: Any) -> Any:
    """Objects of an SDK as the data they stand for."""
    if hasattr(value, "model_dump"):
        return _bare(value.model_dump(exclude_none=True))
    if isinstance(value, bytes):
        return hashlib.blake2b(value, digest_size=16).hexdigest()
    return f"{type(value).__name__}"
