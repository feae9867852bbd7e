"""Words of a text, quickly: this runs over every skill of a roster that is loaded."""

from __future__ import annotations

import re
import string
from collections import Counter

# As bytes: translating a text that is not ASCII takes ten times as long.
_SIGNS = bytes(32 if chr(code) in string.punctuation else code for code in range(256))

# First byte of U+2000 to U+2FFF, where dashes, arrows and the lines of boxes stand.
_SYMBOL = 0xE2

STOP_WORDS = frozenset(
    re.findall(
        rb"\w+",
        b"a an and any are as at be but by can do does for from has have how i if in into is it "
        b"its me my no not of on or our so than that the their them then there these they this to "
        b"up us use used user users using want was we what when where which who will with you "
        b"your skill http https www com",
    )
)
"""Words that any text repeats."""


def words(text: str) -> list[bytes]:
    """The words of a text in lower case, in order, as UTF-8; a hyphenated word is several."""
    return text.lower().encode("utf-8", "replace").translate(_SIGNS).split()


def is_content(word: bytes) -> bool:
    """Whether a word says what a text is about: no stop word, sign or number, not too short."""
    return len(word) > 2 and word not in STOP_WORDS and word[0] != _SYMBOL and not word.isdigit()


def content_counts(found: list[bytes]) -> dict[bytes, int]:
    """How often each content word occurs, in the order in which they come."""
    # `is_content` written out: a call a word is most of the time an inspection takes.
    return {
        word: count
        for word, count in Counter(found).items()
        if len(word) > 2 and word not in STOP_WORDS and word[0] != _SYMBOL and not word.isdigit()
    }
