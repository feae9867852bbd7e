"""Requests that a skill's own text spells out: trigger phrases, "when to use" bullets, examples."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 40
"""Most phrases taken from one skill, the first ones found."""

_WHEN_HEADING = re.compile(
    r"^#+\s*.*(when to (use|activate|apply|invoke)|use (this skill )?when|use cases?|trigger"
    r"|example (requests|prompts|queries|usage)|activation|usage examples|invoke)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'["“]([^"”\n]{8,140})["”]|\'([a-z][^\'\n]{10,120})\'(?=[,.\s)])')
_USE_WHEN = re.compile(
    r"\b(?:use|trigger|invoke|activate|apply)[\w\s,]{0,24}?\b(?:when|whenever|if|for)\b:?\s+"
    r"(?:the user|users?|you)?\s*(?:asks?|wants?|needs?|says?|requests?|mentions?|are|is)?\s*"
    r"(?:you)?\s*(?:to|for|about)?\s*([^.\n]{12,220})",
    re.IGNORECASE,
)
_ALTERNATIVES = re.compile(r",\s+(?:or\s+)?|;\s+| or ")
_BULLET = re.compile(r"\s*(?:[-*+>]|\d+\.)\s+(.*)")
_USER_WANTS = re.compile(
    r"^(?:the )?user (?:asks?|wants?|needs?|says?|requests?|mentions?)(?: you)?"
    r"(?: to| for| about)?:?\s*",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r'(?:user|you|example)[^"\n]{0,20}["“]([^"”\n]{12,160})["”]',
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"[*_`]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True)
class Phrase:
    """A request found in a skill's text.

    Attributes:
        text: As it stands there, so that it can be removed from the text.
        kind: "quote", "when", "bullet", "example" or "first" (the description's first sentence).
    """

    text: str
    kind: str


def find_phrases(description: str, body: str) -> list[Phrase]:
    """The requests that a skill's text spells out, each once, at most `MOST`.

    Args:
        description: The description on one line.
        body: The body, Markdown.
    """
    found = [*_of_description(description), *_of_body(body)]
    first = _SENTENCE_END.split(description)[0]
    if _has_words(first, 4, 35):
        found.append(Phrase(first.strip(" ."), "first"))
    once: dict[str, Phrase] = {}
    for phrase in found[:MOST]:
        if phrase.text:
            once.setdefault(phrase.text.lower(), phrase)
    return list(once.values())


def _of_description(description: str) -> list[Phrase]:
    found = []
    for match in _QUOTED.finditer(description):
        text = (match[1] or match[2]).strip()
        if _has_words(text, 2, 25):
            found.append(Phrase(text, "quote"))
    for match in _USE_WHEN.finditer(description):
        text = match[1].strip()
        for part in [text] if len(text) < 90 else _ALTERNATIVES.split(text):
            part = part.strip(" ,.")
            if _has_words(part, 3, 30):
                found.append(Phrase(part, "when"))
    return found


def _of_body(body: str) -> list[Phrase]:
    found = []
    inside = False
    for line in body.split("\n"):
        if line.startswith("#"):
            inside = bool(_WHEN_HEADING.match(line))
            continue
        bullet = _BULLET.match(line) if inside else None
        if bullet:
            text = _EMPHASIS.sub("", bullet[1]).strip()
            text = _USER_WANTS.sub("", text).strip(' "“”.')
            if _has_words(text, 3, 35):
                found.append(Phrase(text, "bullet"))
        for match in _EXAMPLE.finditer(line):
            if _has_words(match[1], 3, 30):
                found.append(Phrase(match[1].strip(), "example"))
    return found


def _has_words(text: str, least: int, most: int) -> bool:
    return least <= len(text.split()) <= most
