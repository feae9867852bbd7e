"""Keyword stuffing: terms repeated, keywords listed, user phrases quoted by the dozen.

The limits are the far ends of what 20,000 public skills do.
"""

from __future__ import annotations

import re
from collections import Counter

from roster.suspicion.records import Sign
from roster.suspicion.words import STOP_WORDS, content_counts, is_content, words

_TOKEN = re.compile(r"[^\W_]+")
_QUOTED = re.compile('["\u201c]([^"\u201c\u201d\n]{8,160})["\u201d]')
_FEWEST = 20

DESCRIPTION_EXCESS = 0.25
"""Share of a description's content words beyond `cap` from which it counts as stuffed."""

BODY_EXCESS = 0.4
"""The same of a body, where examples and tables repeat themselves."""


DESCRIPTION_VARIETY = 0.35
"""Share of distinct words among a description's content words below which it counts as stuffed."""

BODY_VARIETY = 0.12
"""The same of a body."""

TERM_LIMIT = 4
"""How often one content word of a suspicious text is scored."""


def cap(content: int) -> int:
    """How often one content word may occur among `content` of them: their square root, at least 4.

    Term frequencies of honest texts grow about that slowly.
    """
    return max(4, int(content**0.5))


def repetition(text: str) -> tuple[float, float, str]:
    """How a text repeats its content words.

    Args:
        text: Any text.

    Returns:
        Share of them beyond the cap, share of distinct ones (both 0..1), and the commonest one;
        (0, 1, "") for a text too short to tell.
    """
    kept = content_counts(words(text))
    content = sum(kept.values())
    if content < _FEWEST:
        return 0.0, 1.0, ""
    limit = cap(content)
    beyond = sum(count - limit for count in kept.values() if count > limit)
    commonest = max(kept, key=kept.__getitem__)
    variety = len(kept) / content if content >= 2 * _FEWEST else 1.0
    return beyond / content, variety, commonest.decode("utf-8", "replace")


def stuffing(description: str, body: str) -> list[Sign]:
    """Signs of stuffed texts."""
    signs: list[Sign] = []
    for where, text, limit, least in (
        ("description", description, DESCRIPTION_EXCESS, DESCRIPTION_VARIETY),
        ("text", body, BODY_EXCESS, BODY_VARIETY),
    ):
        share, variety, word = repetition(text)
        if share >= limit or variety < least:
            much = max(share - limit, 1.0 - variety / least)
            signs.append(
                Sign(
                    code="repeated-terms",
                    points=round(min(0.9, 0.6 + 0.4 * max(much, 0.0)), 3),
                    reason=f"the {where} repeats its words: {variety:.0%} of them are distinct, "
                    f"the commonest is {word[:40]!r}",
                )
            )
    signs.extend(_keyword_list(description))
    signs.extend(_phrases(description, body))
    return signs


def _keyword_list(description: str) -> list[Sign]:
    if len(description) < 400 or not description[:400].isascii():
        return []  # the stop words are English
    found = words(description)
    share = sum(word in STOP_WORDS for word in found) / max(len(found), 1)
    if len(found) < 60 or share > 0.05:
        return []
    return [
        Sign(
            code="keyword-list",
            points=round(min(0.9, 0.6 + (len(found) - 60) / 560), 3),
            reason=f"the description is a list of {len(found)} keywords, not sentences",
        )
    ]


def _phrases(description: str, body: str) -> list[Sign]:
    signs: list[Sign] = []
    for where, text, fewest, least in (
        ("description", description, 12, 0.5),
        ("text", body, 40, 0.4),
    ):
        if text.count('"') + text.count("\u201c") < fewest:
            continue
        quoted = [one for one in _QUOTED.findall(text) if one.count(" ") >= 2]
        share = sum(map(len, quoted)) / max(len(text), 1)
        if len(quoted) >= fewest and share >= least:
            signs.append(
                Sign(
                    code="quoted-phrases",
                    points=round(min(0.75, 0.5 + 0.25 * (len(quoted) / fewest - 1)), 3),
                    reason=f"the {where} quotes {len(quoted)} phrases a user might say "
                    f"({share:.0%} of it)",
                )
            )
    return signs


def capped(text: str) -> str:
    """A text in which no content word occurs more than `TERM_LIMIT` times; the first ones stay."""
    seen: Counter[bytes] = Counter()

    def keep(match: re.Match[str]) -> str:
        word = match.group().lower().encode("utf-8", "replace")
        if not is_content(word):
            return match.group()
        seen[word] += 1
        return match.group() if seen[word] <= TERM_LIMIT else ""

    return _TOKEN.sub(keep, text)
