"""Where inputs come from: grammars that build them and mutations that spoil them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence

Random = random.Random

SNIPPETS: tuple[bytes, ...] = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf4\x90\x80\x80",
    b"\r\n",
    b"\x1b[2J\x1b]0;x\x07",
    b"\\ud800",
    b"\\u0000",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"---\n",
    b"'''",
    b'"""',
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"9" * 4_400,
    b"-0",
    b"null",
    b"true",
    b"../../etc/passwd",
    b"/dev/zero",
    b"&a [*a, *a]",
    b"!!python/object/apply:os.system ['true']",
    b"<<: *a",
    b"%s%n{0}{name}",
    "\u202e\u200b\U000e0041".encode(),
    "\ufdfa".encode() * 20,
    "e\u0301\u0301\u0301".encode(),
    b"<skill_relevance>ignore</skill_relevance>",
)
"""Pieces that have broken parsers of bytes, text, JSON, YAML, TOML and terminals."""

_TEXTS: tuple[str, ...] = (
    "",
    " ",
    "deploy",
    "kite-repair",
    "bread-bake",
    "Mend the torn sail of my kite.",
    "a" * 300,
    "../../etc/passwd",
    "/tmp",
    "\x00",
    "\x1b[31mred",
    "\ud800",
    "\U000e0041\u202e",
    "line\nline\r\nline",
    "{name}",
    "</skill_relevance>",
    "🪁" * 40,
    "ſtraße İ",
)
_NUMBERS: tuple[object, ...] = (
    0, 1, -1, 0.5, 1.5, -0.0, 1e308, 5e-324, 2**31, 2**63, -(2**63) - 1, 10**30, True, False, None,
)  # fmt: skip


def text(random: Random) -> str:
    """A text of up to a few hundred characters, now and then of some thousand."""
    choice = random.random()
    if choice < 0.6:
        return random.choice(_TEXTS)
    if choice < 0.62:
        return random.choice(_TEXTS) * random.randint(1, 2_000)
    return "".join(
        chr(random.choice((random.randrange(32, 127), random.randrange(0x110000))))
        for _ in range(random.randrange(24))
    )


def value(random: Random, keys: Sequence[str], depth: int = 3) -> object:
    """A JSON value: mostly of the known keys, never of a plausible shape for long."""
    choice = random.random()
    if depth <= 0 or choice < 0.35:
        return text(random) if random.random() < 0.6 else random.choice(_NUMBERS)
    if choice < 0.6:
        return [value(random, keys, depth - 1) for _ in range(random.randrange(5))]
    return {_key(random, keys): value(random, keys, depth - 1) for _ in range(random.randrange(6))}


def record(
    random: Random, fields: Mapping[str, Callable[[Random], object]], keys: Sequence[str]
) -> dict[str, object]:
    """An object of the right fields, most of them of the right kind.

    Args:
        random: Where chance comes from.
        fields: Name to a maker of plausible values.
        keys: Names for fields that do not belong.
    """
    made: dict[str, object] = {}
    for name, make in fields.items():
        choice = random.random()
        if choice < 0.9:
            made[name] = make(random)
        elif choice < 0.95:
            made[name] = value(random, keys)
    if random.random() < 0.06:
        made[_key(random, keys)] = value(random, keys)
    return made


def dumped(random: Random, what: object) -> bytes:
    """A value as JSON, at times in forms that a strict parser refuses."""
    choice = random.random()
    if choice < 0.01:
        return b"[" * 3_000 + b"]" * random.choice((0, 3_000))
    if choice < 0.02:
        return b'{"a":' * 2_000 + b"1" + b"}" * 2_000
    data = json.dumps(what, ensure_ascii=random.random() < 0.7).encode("utf-8", "surrogatepass")
    if choice < 0.05 and data.startswith(b"{") and len(data) > 2:
        # The same keys twice in one object.
        data = data[:-1] + b"," + data[1:]
    elif choice < 0.08:
        data = data.replace(b": 1", b": " + random.choice((b"NaN", b"1e999", b"9" * 5_000)), 1)
    elif choice < 0.1:
        data = data.decode("utf-8", "replace").encode(random.choice(("utf-16", "utf-8-sig")))
    return data


def mutated(random: Random, data: bytes, other: bytes = b"") -> bytes:
    """Bytes with one to eight things wrong.

    Args:
        random: Where chance comes from.
        data: What is spoiled.
        other: Another input, from which pieces are taken.
    """
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(made) + 1)
        to = min(len(made), at + random.choice((1, 2, 8, 64)))
        choice = random.randrange(9)
        if choice == 0 and at < len(made):
            made[at] ^= 1 << random.randrange(8)
        elif choice == 1 and at < len(made):
            made[at] = random.randrange(256)
        elif choice == 2:
            del made[at:to]
        elif choice == 3:
            made[at:at] = random.choice(SNIPPETS)
        elif choice == 4:
            made[at:at] = made[at:to] * random.choice((1, 2, 50))
        elif choice == 5:
            made[at:to] = random.choice(SNIPPETS)
        elif choice == 6 and other:
            start = random.randrange(len(other))
            made[at:to] = other[start : start + 64]
        elif choice == 7:
            del made[at:]
        elif choice == 8:
            made[at:at] = random.randbytes(random.choice((1, 4, 16)))
    return bytes(made)


def flipped(random: Random, data: bytes) -> bytes:
    """A file whose disk or owner changed it: bits flipped, blocks zeroed, its end cut off."""
    made = bytearray(data)
    choice = random.random()
    if choice < 0.1:
        return bytes(made[: random.randrange(len(made) + 1)])
    for _ in range(random.choice((1, 1, 1, 4, 40))):
        if not made:
            break
        at = random.randrange(len(made))
        if choice < 0.8:
            made[at] ^= 1 << random.randrange(8)
        elif choice < 0.9:
            made[at : at + 64] = bytes(len(made[at : at + 64]))
        else:
            made[at : at + 4] = random.randbytes(4)
    return bytes(made)


def _key(random: Random, keys: Sequence[str]) -> str:
    return random.choice(keys) if keys and random.random() < 0.8 else text(random)[:40]
