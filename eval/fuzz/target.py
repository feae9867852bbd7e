"""One public entry under fuzzing, and what counts as a fault of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eval.fuzz.generate import Random, mutated

MAX_MESSAGE = 4_000
"""Longest error message that is still one, in characters."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\x9b\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


class FaultError(AssertionError):
    """An entry did what it must not do; the message says what."""


@dataclass(frozen=True)
class Target:
    """One public entry.

    Attributes:
        name: As the table prints it.
        share: How many of the inputs it gets, relative to the others.
        seeds: Valid inputs that are spoiled.
        build: Makes an input from a grammar.
        feed: Puts an input in. True when it was accepted, False when it was cleanly refused;
            whatever it raises is a fault.
        spoil: How a seed is spoiled.
    """

    name: str
    share: int
    seeds: Sequence[bytes]
    build: Callable[[Random], bytes]
    feed: Callable[[bytes], bool]
    spoil: Callable[[Random, bytes], bytes] | None = None

    def make(self, random: Random) -> bytes:
        """An input: built, built and spoiled, or a spoiled seed."""
        choice = random.random()
        if not self.seeds or choice < 0.6:
            made = self.build(random)
            return mutated(random, made) if choice < 0.12 else made
        seed = random.choice(self.seeds)
        if choice < 0.62:
            return seed
        if self.spoil is not None:
            return self.spoil(random, seed)
        return mutated(random, seed, random.choice(self.seeds))


def require(good: bool, what: str) -> None:
    """Call it a fault unless something holds.

    Raises:
        FaultError: If it does not.
    """
    if not good:
        raise FaultError(what)


def clean(error: BaseException | str, names: str = "") -> bool:
    """Check that an error reads as one: a short printable sentence that names its file.

    Args:
        error: The error, or its message.
        names: A text that must occur in it, such as the file's name.

    Returns:
        False, for `Target.feed` to return.

    Raises:
        FaultError: If it does not.
    """
    message = str(error)
    require(bool(message.strip()), "an error without a message")
    require(len(message) <= MAX_MESSAGE, f"an error of {len(message):,} characters")
    found = _UNPRINTABLE.search(message)
    require(found is None, f"an error with the character {found and ascii(found[0])}: {message!r}")
    require("Traceback" not in message, "an error with a traceback in it")
    require(names in message, f"an error that does not name {names}: {message[:300]}")
    return False
