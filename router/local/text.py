"""How a skill and a request are turned into the texts that are scored."""

from __future__ import annotations

import re

from roster import Skill

_MARKUP = re.compile(r"[#*`|>_=~-]{2,}|[#*`|]")
_SPACE = re.compile(r"\s+")
_WORD_JOIN = re.compile(r"[-_]+")

MAX_BODY = 16_000
"""Characters of a body that are scored; past that, instructions are rarely about what it is for."""


def plain(text: str) -> str:
    """A Markdown text as one line of words: markup runs and repeated spaces become one space."""
    return _SPACE.sub(" ", _MARKUP.sub(" ", text)).strip()


def spoken(name: str) -> str:
    """A skill's name as words: ``git-commit`` is "git commit"."""
    return _WORD_JOIN.sub(" ", name)


def document(skill: Skill, body_chars: int = 700) -> str:
    """The text that stands for a skill as a whole: name, description, start of the body."""
    body = plain(skill.body[: body_chars + 200])[:body_chars]
    return f"{spoken(skill.name)}. {plain(skill.description)} {body}".strip()


def summary(skill: Skill) -> str:
    """Name and description alone."""
    return f"{spoken(skill.name)}. {plain(skill.description)}".strip()


def passages(skill: Skill, size: int = 600, most: int = 6) -> list[str]:
    """The body in pieces of about `size` characters that end at a word.

    Args:
        skill: The skill.
        size: Characters a piece, 50 or more.
        most: Most pieces; the rest of a longer body is left out.

    Returns:
        At least one piece: the description when there is no body.
    """
    body = plain(skill.body[:MAX_BODY])
    pieces: list[str] = []
    start = 0
    while start < len(body) and len(pieces) < most:
        end = min(len(body), start + size)
        if end < len(body):
            space = body.rfind(" ", start + size // 2, end)
            end = space if space > 0 else end
        piece = body[start:end].strip()
        if piece:
            pieces.append(piece)
        start = end
    return pieces or [plain(skill.description)]


def fields(skill: Skill) -> tuple[str, str]:
    """The two fields of the lexical side: everything, and what the author put up front."""
    front = f"{spoken(skill.name)} {skill.category} {skill.description}"
    return f"{front} {skill.body[:MAX_BODY]}", front
