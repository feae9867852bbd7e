"""Keyword stuffing: terms repeated, keywords listed, user phrases quoted by the dozen.

The limits are the far ends of what 20,000 public skills do.
"""

from __future__ import annotations

import re
from collections import Counter

from roster.suspicion.records import Sign
from roster.suspicion.words import STOP_WORDS, is_content, words

_TOKEN = re.compile(r"[^\W_]+")
_QUOTED = re.compile('["\u201c]([^"\u201c\u201d\n]{8,160})["\u201d]')
_FEWEST = 20

DESCRIPTION_EXCESS = 0.25
"""Share of a description's content words beyond the cap from which it counts as stuffed."""

BODY_EXCESS = 0.4
"""The same of a body, where examples and tables repeat themselves."""


def cap(content: int) -> int:
    """How often one content word may occur among `content` of them: their square root, at least 4.

    Term frequencies of honest texts grow about that slowly.
    """
    return max(4, int(content**0.5))


def excess(text: str) -> tuple[float, str]:
    """Share of the content words of a text that lie beyond the cap, 0..1, and the commonest one."""
    counts = Counter(words(text))
    kept = {word: count for word, count in counts.items() if is_content(word)}
    content = sum(kept.values())
    if content < _FEWEST:
        return 0.0, ""
    limit = cap(content)
    beyond = sum(count - limit for count in kept.values() if count > limit)
    commonest = max(kept, key=lambda word: kept[word])
    return beyond / content, commonest.decode("utf-8", "replace")


def stuffing(description: str, body: str) -> list[Sign]:
    """Signs of stuffed texts."""
    signs: list[Sign] = []
    for where, text, limit in (
        ("description", description, DESCRIPTION_EXCESS),
        ("text", body, BODY_EXCESS),
    ):
        share, word = excess(text)
        if share >= limit:
            signs.append(
                Sign(
                    code="repeated-terms",
                    points=round(min(0.9, 0.6 + (share - limit)), 3),
                    reason=f"{share:.0%} of the words of the {where} repeat others beyond a cap, "
                    f"most of all {word[:40]!r}",
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
    if len(found) < 60 or share > 0.03:
        return []
    return [
        Sign(
            code="keyword-list",
            points=0.6,
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
    """A text in which no content word occurs more often than the cap; the first ones stay."""
    limit = cap(sum(is_content(word) for word in words(text)))
    seen: Counter[bytes] = Counter()

    def keep(match: re.Match[str]) -> str:
        word = match.group().lower().encode("utf-8", "replace")
        if not is_content(word):
            return match.group()
        seen[word] += 1
        return match.group() if seen[word] <= limit else ""

    return _TOKEN.sub(keep, text)
