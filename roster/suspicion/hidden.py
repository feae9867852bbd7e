"""Characters that a reader does not see and a model reads, or the other way round."""

from __future__ import annotations

import re

from roster.suspicion.records import Sign

# A zero-width character between two Latin letters or digits: scripts and emoji that need joiners
# are not Latin.
_INSIDE = re.compile("[a-zA-Z0-9][\xad\u200b-\u200d\u2060-\u2064\ufeff]+(?=[a-zA-Z0-9])")
_RUNS = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff\u115f\u1160\u3164\u180e]{3,}")
# Overrides and isolates turn text round; marks (200E, 200F) alone are common in right-to-left text.
_TURNED = re.compile("[\u202d\u202e]")
# Tag letters spell ASCII that nobody sees; flags of regions use them behind a black flag.
_TAGS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0020-\U000e007f]+")
_UNSEEN = re.compile(
    "[\xad\u115f\u1160\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2064\u2066-\u2069\u3164\ufeff"
    "\U000e0000-\U000e007f]"
)


def hidden_text(description: str, body: str) -> list[Sign]:
    """Signs of hidden characters in description and body."""
    signs: list[Sign] = []
    for where, text, weight in (("description", description, 1.0), ("text", body, 0.7)):
        if text.isascii() or _UNSEEN.search(text) is None:
            continue
        tags = sum(len(found) for found in _TAGS.findall(text))
        turned = len(_TURNED.findall(text))
        inside = len(_INSIDE.findall(text)) + len(_RUNS.findall(text))
        for count, most, what in (
            (tags, 0.95, "letters written in invisible tag characters"),
            (turned, 0.9, "characters that turn the text around"),
            (inside, min(0.9, 0.15 * inside), "zero-width characters inside words"),
        ):
            if count:
                signs.append(
                    Sign(
                        code="hidden-text",
                        points=round(most * weight, 3),
                        reason=f"the {where} holds {count} {what}",
                    )
                )
    return signs


def without_unseen(text: str) -> str:
    """A text without the characters that nobody sees."""
    return text if text.isascii() else _UNSEEN.sub("", text)
