"""Text that comes from strangers: safe names, single lines, visible characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_NAME = 128
"""Longest name, in characters, that counts as safe."""

# Parts of letters, digits and inner signs; marks are taken out before the pattern is applied.
_PART = r"[^\W_](?:[\w.+-]*[\w+])?"
_SAFE_NAME = re.compile(rf"_?{_PART}(?:[:/]{_PART})*")
# Letters and marks that take no ink: they let two names look the same.
_INVISIBLE_WORD = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Everything that breaks a line, reorders it or hides in it. The two joiners stay: scripts and
# emoji need them.
_BREAKS = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_HIDDEN = re.compile(
    "[\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_NOT_ENCODABLE = re.compile("[\x00\ud800-\udfff]")


def is_safe_name(name: str) -> bool:
    """Whether a name may be shown to an agent as it stands.

    Safe names have 1 to 128 characters: letters and digits of any script, ``_``, ``-``, ``.`` and
    ``+``, in parts joined by ``:`` or ``/``. Spaces, angle brackets, quotes, control characters
    and invisible characters never occur in one, so a name can be neither markup nor a sentence.

    Args:
        name: Any text.

    Returns:
        True when the name is safe.
    """
    if not 0 < len(name) <= MAX_NAME:
        return False
    if name.isascii():
        return _SAFE_NAME.fullmatch(name) is not None
    return (
        _SAFE_NAME.fullmatch(_without_marks(name)) is not None
        and _INVISIBLE_WORD.search(name) is None
        and unicodedata.normalize("NFKC", name) == name
    )


def slug(text: str) -> str:
    """The safe name a person would choose for a text, or "" when nothing of it can be kept.

    Args:
        text: Any text, for example "Apple Notes (macOS)".

    Returns:
        Lower-case words joined by hyphens, at most 64 characters: ``apple-notes-macos``.
    """
    text = unicodedata.normalize("NFKC", encodable(text[:1000])).casefold()
    text = unicodedata.normalize("NFKC", re.sub(r"['\u2019]", "", _INVISIBLE_WORD.sub("", text)))
    kept = "".join(
        char if char.isalnum() or _is_mark(char) or char in "._+" else " " for char in text
    )
    words = (word.lstrip("._+").rstrip("._") for word in kept.split())
    joined = "-".join(word for word in words if word)[:64].rstrip("-._")
    return joined if is_safe_name(joined) else ""


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Mc")


def _without_marks(name: str) -> str:
    """A name without accents and vowel signs; one with a pile of them stays as it is, unsafe."""
    bare = "".join(char for char in name if not _is_mark(char))
    return bare if len(name) <= 2 * len(bare) else name


def one_line(text: str) -> str:
    """A text as exactly one line: breaks and control characters become single spaces.

    Args:
        text: Any text.

    Returns:
        The text without line breaks, control characters, direction marks and zero-width
        characters, stripped.
    """
    return _BREAKS.sub(" ", _HIDDEN.sub("", text)).strip()


def visible(text: str) -> str:
    """A text in which every control or hidden character is written as an escape."""
    return _UNPRINTABLE.sub(lambda match: ascii(match.group())[1:-1], text)


def field_path(place: Iterable[str | int]) -> str:
    """The place of a fault in a record, for an error message: ``procedure.2.name``.

    Args:
        place: Keys and positions from the outside in. Keys may be a stranger's: hidden characters
            are written as escapes, and a long one is cut.

    Returns:
        The parts joined by dots; "" for the record itself.
    """
    return visible(".".join(str(part)[:80] for part in place)[:400])


def encodable(text: str) -> str:
    """A text that every encoder and tokenizer takes.

    Args:
        text: Any text.

    Returns:
        The text with each lone surrogate and each NUL replaced by U+FFFD.
    """
    return _NOT_ENCODABLE.sub("\ufffd", text)
