"""Read frontmatter that YAML rejects, the way a person would."""

from __future__ import annotations

import re
from dataclasses import dataclass

from roster.yamltree import MAX_DEPTH, Value

_KEY = re.compile(
    r"(?P<key>[^\W\d_][\w .-]{0,38}[\w]|[^\W\d_])[ \t]*[:\uff1a](?:\s+|$)(?P<rest>.*)"
)
_QUOTED_KEY = re.compile(r"""(?P<q>["'])(?P<key>[^"']{1,40})(?P=q)\s*:(?:\s+|$)(?P<rest>.*)""")
_BLOCK = re.compile(r"[|>](?P<marks>[+-]?\d?[+-]?)(?:\s+(?P<text>.*))?$")
_ITEM = re.compile(r"[-*](?:\s+(?P<text>.*))?$")
# Quotation marks that are neither escaped nor apostrophes.
_MARKS = {'"': re.compile(r'(?<!\\)"'), "'": re.compile(r"(?<!\w)'|'(?!\w)")}
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of frontmatter: its indentation in columns and the text after it."""

    number: int
    indent: int
    text: str


def split_lines(text: str, first_number: int = 1) -> list[Line]:
    """Split a text into lines, counting a tab as two columns of indentation."""
    lines: list[Line] = []
    for number, raw in enumerate(text.split("\n"), first_number):
        body = raw.lstrip(" \t")
        indent = sum(2 if char == "\t" else 1 for char in raw[: len(raw) - len(body)])
        lines.append(Line(number, indent if body else 0, body.rstrip()))
    return lines


def match_key(line: Line) -> tuple[str, str] | None:
    """The key and the rest of a ``key: value`` line, or None."""
    found = _KEY.match(line.text) or _QUOTED_KEY.match(line.text)
    if found is None or len(found["key"].split()) > 3:
        return None
    return found["key"].strip(), found["rest"].strip()


def recover(lines: list[Line]) -> tuple[dict[str, Value], dict[str, int], dict[str, int]]:
    """Read ``key: value`` lines leniently.

    A value is taken as written: colons, brackets, asterisks and number signs in it are text. It
    goes on over the lines indented deeper than its key, and over unindented lines that are no key
    themselves. Quotes around a whole value are removed, also where the closing one is missing.

    Args:
        lines: The lines between the fences.

    Returns:
        The fields (of two equal keys the first wins), the line of each key, and the line of each
        repeated key.
    """
    fields: dict[str, Value] = {}
    where: dict[str, int] = {}
    repeated: dict[str, int] = {}
    indents = [line.indent for line in lines if line.text and match_key(line)]
    base = min(indents, default=0)
    position = 0
    while position < len(lines):
        line = lines[position]
        key_rest = match_key(line) if line.indent <= base + 1 else None
        position += 1
        if key_rest is None:
            continue
        end = position
        while end < len(lines) and not _starts_key(lines[end], base):
            end += 1
        key, rest = key_rest
        if key in fields:
            repeated.setdefault(key, line.number)
        else:
            fields[key] = _value(rest, lines[position:end], depth=1)
            where[key] = line.number
        position = end
    return fields, where, repeated


def _starts_key(line: Line, base: int) -> bool:
    return bool(line.text) and line.indent <= base + 1 and match_key(line) is not None


def _value(rest: str, below: list[Line], depth: int) -> Value:
    """The value of a key from the rest of its line and the lines below it."""
    while below and not below[-1].text:
        below = below[:-1]
    block = _BLOCK.match(rest)
    if block is not None:
        text = block["text"] or ""
        head = [] if text.startswith("#") or not text else [Line(0, 0, text)]
        return _join(head + below, keep_lines=rest[0] == "|")
    if not rest or rest.startswith("#"):
        return _nested([line for line in below if not line.text.startswith("#")], depth)
    if rest.startswith("[") and rest.endswith("]") and not below:
        return _flow_list(rest)
    if rest[0] in "\"'":
        return _quoted(rest, below)
    return _join([Line(0, 0, rest), *below], keep_lines=False)


def _nested(below: list[Line], depth: int) -> Value:
    written = [line for line in below if line.text]
    if not written:
        return ""
    items = [_ITEM.match(line.text) for line in written]
    if items[0] is not None:
        return _items(written)
    if match_key(written[0]) is None or depth >= MAX_DEPTH:
        return _join(below, keep_lines=False)
    fields: dict[str, Value] = {}
    base = written[0].indent
    position = 0
    while position < len(below):
        found = match_key(below[position]) if below[position].indent <= base else None
        position += 1
        if found is None:
            continue
        end = position
        while end < len(below) and not (
            below[end].text and below[end].indent <= base and match_key(below[end])
        ):
            end += 1
        fields.setdefault(found[0], _value(found[1], below[position:end], depth + 1))
        position = end
    return fields


def _items(written: list[Line]) -> list[Value]:
    values: list[Value] = []
    for line in written:
        item = _ITEM.match(line.text)
        if item is not None:
            values.append(unquote(item["text"] or ""))
        else:
            values[-1] = f"{values[-1]} {line.text}".strip()
    return values


def _flow_list(rest: str) -> Value:
    """``[a, b]`` as a list; anything more intricate stays the text it is."""
    inner = rest[1:-1]
    if any(mark in inner for mark in "[]{}"):
        return rest
    return [unquote(part.strip()) for part in inner.split(",") if part.strip()]


def _quoted(rest: str, below: list[Line]) -> str:
    quote = rest[0]
    if len(rest) > 1 and rest.endswith(quote):
        return _join([Line(0, 0, unquote(rest)), *below], keep_lines=False)
    if len(_MARKS[quote].findall(rest)) % 2 == 0:
        # Quotes around some words, not around the whole.
        return _join([Line(0, 0, rest), *below], keep_lines=False)
    whole = _join([Line(0, 0, rest), *below], keep_lines=False)
    return unquote(whole) if whole.endswith(quote) else _unescape(whole[1:], quote)


def unquote(text: str) -> str:
    """A text without the quotes around the whole of it."""
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        return _unescape(text[1:-1], text[0])
    return text


def _unescape(text: str, quote: str) -> str:
    if quote == "'":
        return text.replace("''", "'")
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text)


def _join(lines: list[Line], keep_lines: bool) -> str:
    """Join lines into one text; folded lines are joined by spaces, blank ones end a paragraph."""
    if keep_lines:
        return "\n".join(line.text for line in lines).strip()
    paragraphs = "\n".join(line.text for line in lines).split("\n\n")
    return "\n".join(" ".join(part.split("\n")).strip() for part in paragraphs).strip()
