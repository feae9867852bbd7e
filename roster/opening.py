"""What the opening of a text says, for skills whose description says nothing."""

from __future__ import annotations

import re

from roster.text import one_line

MAX_CHARS = 400
"""Longest opening in characters."""

_READ = 20_000
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<text>.*?)[ \t#]*$")
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]+")
_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")
_FACT = re.compile(
    r"[*_]{0,2}(?:status|version|latest versions?|last (?:updated|verified)|updated|created|date|"
    r"authors?|licen[sc]e|source|dependencies|production tested|repository|tags)\b[^:\n]{0,20}:",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_PREPARATION = re.compile(
    r"table of contents|contents|dependenc|prerequisite|requirement|install|setup|configuration",
    re.IGNORECASE,
)


def first_heading(body: str) -> str:
    """The first level-1 heading of a Markdown text, or ""."""
    for line in body[:_READ].split("\n"):
        if re.match(r"#[ \t]+\S", line):
            return _plain(line.lstrip("# \t"))
    return ""


def opening(body: str) -> str:
    """The title and the first paragraph that says something, as a person skimming reads them.

    Code, tables, pictures, link lists and sections about installing are passed over. A paragraph
    that ends in a colon takes the next one with it.

    Args:
        body: Markdown.

    Returns:
        One line of at most `MAX_CHARS` characters; "" when there is no text.
    """
    title = first_heading(body)
    said: list[str] = []
    for paragraph in _paragraphs(_COMMENT.sub("", body[:_READ])):
        said.append(paragraph)
        if not paragraph.endswith((":", "\uff1a")):
            break
    prose = " ".join(said)
    text = f"{title}: {prose}" if title and prose else title or prose
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 3] + "..."


def _paragraphs(body: str) -> list[str]:
    """The paragraphs and lists of a text in plain words, at most three."""
    paragraphs: list[str] = []
    lines: list[str] = []
    fence = ""
    preparing = False
    for raw in [*body.split("\n"), ""]:
        line = raw.strip().lstrip("> ")
        if fence or line.startswith(("```", "~~~")):
            fence = "" if fence and line.startswith(fence) else fence or line[:3]
            line = ""
        heading = _HEADING.match(line)
        if heading is not None:
            preparing = _PREPARATION.match(heading["text"]) is not None
        if line and heading is None and not preparing:
            lines.append(line)
            continue
        text = _plain_lines(lines)
        lines = []
        if text:
            paragraphs.append(text)
            if len(paragraphs) == 3:
                break
    return paragraphs


def _plain_lines(lines: list[str]) -> str:
    texts: list[str] = []
    for line in lines:
        if line.startswith(("|", "![", "<")) or re.match(r"[-*+]\s+\[[^\]]*\]\(#", line):
            continue
        if _FACT.match(line):
            continue
        item = _ITEM.match(line)
        text = _plain(line[item.end() :] if item else line)
        if not re.search(r"\w", text):
            continue
        if item and texts:
            texts[-1] = texts[-1] if texts[-1].endswith(tuple(".,;:!?")) else f"{texts[-1]};"
        texts.append(text)
    return " ".join(texts)


def _plain(text: str) -> str:
    """A line without Markdown's emphasis and links."""
    text = _LINK.sub(r"\1", text)
    return one_line(text.replace("**", "").replace("__", ""))
