"""One reply to one JSON object, or a named fault. Nothing is guessed, nothing is mended."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from router.proposals.errors import MalformedReply

_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_strict(reply: str | bytes, max_bytes: int) -> dict[str, Any]:
    """Parse a reply that must be exactly one JSON object.

    Args:
        reply: The text, or its UTF-8 bytes.
        max_bytes: Longest reply in bytes; a longer one is not parsed at all.

    Returns:
        The object.

    Raises:
        MalformedReply: If the reply is too long, cannot be encoded or decoded, is no JSON object,
            has a key twice in one object, or holds NaN, Infinity, a number out of range or text
            that cannot be encoded.
    """
    data = _encoded(reply)
    if len(data) > max_bytes:
        raise MalformedReply(f"the reply is longer than {max_bytes:,} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedReply(f"the reply is not UTF-8 text (byte {error.start})") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_number,
            parse_int=_integer,
        )
    except RecursionError:
        raise MalformedReply("the reply is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise MalformedReply(
            f"the reply is not one JSON object: {error.msg} at character {error.pos}"
        ) from None
    if not isinstance(value, dict):
        raise MalformedReply("the reply is not a JSON object")
    _refuse_surrogates(value)
    return value


def _encoded(reply: str | bytes) -> bytes:
    if not isinstance(reply, str):
        return bytes(reply)
    try:
        return reply.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedReply(
            f"the reply holds text that cannot be encoded (character {error.start})"
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise MalformedReply(f"the key {shown(key)} stands twice in one object")
        found[key] = value
    return found


def _constant(name: str) -> Any:
    raise MalformedReply(f"{name} is not a JSON number")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise MalformedReply("a number is out of range")
    return value


def _integer(text: str) -> int:
    if len(text) > 20:
        raise MalformedReply("a number is out of range")
    return int(text)


def _refuse_surrogates(value: Any) -> None:
    # An escape such as \ud800 is valid JSON and yet no text; walked without recursion.
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, str) and _SURROGATE.search(one):
            raise MalformedReply("the reply holds text that cannot be encoded")


def shown(text: str) -> str:
    """A piece of a reply as an error message may show it: short, quoted, ASCII."""
    return ascii(text if len(text) <= 60 else text[:60] + "...")
