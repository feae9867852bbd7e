"""JSON that strangers wrote: no duplicate keys, no NaN, no half characters, no abyss."""

from __future__ import annotations

import json
import re
from typing import Any

from router.service.problems import Refusal

MAX_DEPTH = 20
"""Deepest nesting that is accepted."""

# An escaped half of a character, which only means something beside its other half.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        data: UTF-8 text.

    Returns:
        The object. Lone surrogates in its texts, which escapes can smuggle in, are U+FFFD.

    Raises:
        Refusal: With status 400 if it is no JSON object, repeats a key, or nests too deep.
    """
    if not data.strip():
        raise Refusal(400, "the body is empty; send a JSON object")
    try:
        value = json.loads(
            data.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise Refusal(400, f"the body is not UTF-8 (byte {error.start}); encode it so") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Refusal(400, f"the body is not JSON: {error.msg} ({where})") from error
    except RecursionError as error:
        raise Refusal(400, f"the JSON nests deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:  # numbers of thousands of digits
        raise Refusal(400, f"the body is not usable JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refusal(400, f"the body is a JSON {_kind(value)}; send an object")
    if _too_deep(value):
        raise Refusal(400, f"the JSON nests deeper than {MAX_DEPTH} levels")
    if _SURROGATE.search(data):
        value = _whole(value)
    return value  # type: ignore[no-any-return]


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Refusal(400, f"the key {twice[:80]!r} occurs twice; send it once")
    return made


def _no_constant(name: str) -> object:
    raise Refusal(400, f"{name} is no JSON; send a number or null")


def _too_deep(value: object) -> bool:
    layer = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[object] = []
        for item in layer:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return False
        layer = below
    return True


def _whole(value: Any) -> Any:
    """The value with every lone surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def _kind(value: object) -> str:
    names = {list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
