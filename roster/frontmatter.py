"""Split a SKILL.md into its fields and its body."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from roster.recovery import Line, match_key, recover, split_lines
from roster.yamltree import Value, YamlRefusedError, YamlTree, read_yaml

# Hyphens, or the dashes an editor makes of them.
_FENCE = re.compile(r"\s*(?:-{3,}|[\u2010-\u2015\u2212]{1,3}-?|\u2e3a|\u2e3b)\s*")
_CLOSING = re.compile(r"(?:-{3,}|\.{3}|[\u2010-\u2015\u2212]{1,3}-?|\u2e3a|\u2e3b)\s*")
_LEAD = re.compile(r"(?:\s*<!--.{0,4000}?-->)?\s*(?:```[\w-]*[ \t]*\n\s*)?", re.DOTALL)
_KNOWN = frozenset({"name", "description", "title", "metadata"})


@dataclass
class Note:
    """Something odd about the frontmatter: code, line in the file, what, and how to mend it."""

    code: str
    line: int
    message: str
    remedy: str


@dataclass
class Frontmatter:
    """A SKILL.md taken apart.

    Attributes:
        fields: Keys and values; every scalar is a text.
        lines: 1-based line of each top-level key.
        body: The text after the frontmatter, stripped.
        body_line: 1-based line on which the text after the frontmatter starts.
        recovered: Whether YAML rejected the frontmatter and it was read leniently.
        notes: What was odd.
    """

    fields: dict[str, Value] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    recovered: bool = False
    notes: list[Note] = field(default_factory=list)


def parse_frontmatter(text: str) -> Frontmatter:
    """Take a SKILL.md apart: YAML first, and a lenient reading of what YAML rejects.

    Never raises, whatever the text.

    Args:
        text: The decoded file, with ``\\n`` as line end.

    Returns:
        The fields, the body and notes on everything odd.
    """
    result = _parse(text)
    if result.fields and _FENCE.fullmatch(result.body.split("\n", 1)[0]):
        _merge_second(result)
    return result


def _parse(text: str) -> Frontmatter:
    text = text.removeprefix("\ufeff")
    lead = _LEAD.match(text)
    start = lead.end() if lead else 0
    first = text.count("\n", 0, start) + 1
    lines = text[start:].split("\n")
    fenced = bool(_FENCE.fullmatch(lines[0]))
    if not fenced and not _opens_bare(lines):
        body = text.strip()
        note = Note("no-frontmatter", 1, "the file has no frontmatter", _ADD_FRONTMATTER)
        return Frontmatter(body=body, body_line=1, notes=[note])
    result = Frontmatter()
    if not fenced:
        result.notes.append(
            Note(
                "frontmatter-unopened",
                first,
                "the frontmatter has no opening ---",
                "put a line with --- before it",
            )
        )
    inner = 1 if fenced else 0
    end, closed = _find_end(lines, inner)
    if not closed:
        result.notes.append(
            Note(
                "frontmatter-unclosed",
                first,
                "the frontmatter has no closing ---",
                "put a line with --- after it",
            )
        )
    block = "\n".join(lines[inner:end])
    after = end + 1 if closed else end
    result.body = "\n".join(lines[after:]).strip()
    result.body_line = first + after
    _read_fields(block, first + inner, result)
    if not result.fields and not _has_content(block):
        result.notes.append(
            Note("frontmatter-empty", first, "the frontmatter is empty", _ADD_FRONTMATTER)
        )
    elif not result.fields:
        # A rule or a quotation, not frontmatter: it belongs to the text.
        result.body = "\n".join(lines[inner:]).strip()
        result.body_line = first
        result.notes = [
            Note("no-frontmatter", first, "the file has no frontmatter", _ADD_FRONTMATTER)
        ]
    return result


def _merge_second(result: Frontmatter) -> None:
    """Take in a second frontmatter below the first, as tools leave it that prepend their own.

    The first one's fields count; a description of the second is kept as a summary, which stands in
    where the first one says nothing.
    """
    second = _parse(result.body)
    if not {"name", "description"} & second.fields.keys():
        return
    line = result.body_line
    description = second.fields.pop("description", "")
    result.fields = {**second.fields, "summary": description, **result.fields}
    result.body = second.body
    result.body_line = line + second.body_line - 1
    result.notes.append(
        Note(
            "frontmatter-twice",
            line,
            "the file has two frontmatters; the first one counts",
            "join them into one",
        )
    )


_ADD_FRONTMATTER = "start the file with ---, name: ..., description: ..., ---"


def _has_content(block: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in block.split("\n"))


def _opens_bare(lines: list[str]) -> bool:
    """Whether a file without opening fence starts with frontmatter keys all the same."""
    found = match_key(Line(1, 0, lines[0].strip()))
    return found is not None and found[0].lower() in _KNOWN


def _find_end(lines: list[str], start: int) -> tuple[int, bool]:
    """Index of the closing fence, or of the first line that can be no frontmatter."""
    for index in range(start, len(lines)):
        if _CLOSING.fullmatch(lines[index]):
            return index, True
    blank = False
    for index in range(start, len(lines)):
        line = lines[index]
        stripped = line.strip()
        if not stripped:
            blank = True
            continue
        indented = line[0] in " \t"
        if stripped.startswith(("# ", "## ", "```")) and not indented:
            return index, False
        if blank and not indented and match_key(Line(1, 0, stripped)) is None:
            return index, False
        blank = False
    return len(lines), False


def _read_fields(block: str, first: int, result: Frontmatter) -> None:
    try:
        tree = read_yaml(block)
    except YamlRefusedError as refusal:
        if not _has_content(block):
            return
        line = first if refusal.line is None else first + refusal.line - 1
        result.fields, result.lines, repeated = recover(split_lines(block, first))
        result.recovered = True
        result.notes.append(
            Note(
                refusal.code,
                line,
                f"the frontmatter is not valid YAML ({refusal})",
                "put quotes around the value, or write it below the key after a >- sign",
            )
        )
    else:
        result.fields = tree.fields
        result.lines = {key: first + line - 1 for key, line in tree.lines.items()}
        repeated = {key: first + line - 1 for key, line in tree.repeated.items()}
        _restore_number_signs(block.split("\n"), tree, result)
    for key, line in repeated.items():
        result.notes.append(
            Note(
                "duplicate-key",
                line,
                f"the field {key!r} occurs twice; the first one counts",
                "delete one of the two",
            )
        )


def _restore_number_signs(lines: list[str], tree: YamlTree, result: Frontmatter) -> None:
    """Give a description back what YAML took for a comment, as in ``look at PR #12 and ...``."""
    number = tree.plain_lines.get("description")
    value = tree.fields.get("description")
    if number is None or not isinstance(value, str):
        return
    found = match_key(Line(number, 0, lines[number - 1].strip()))
    if found is None or not found[1].startswith(value):
        return
    rest = found[1][len(value) :]
    if re.match(r"\s+#[^\s#]", rest):
        result.fields["description"] = found[1]
        result.notes.append(
            Note(
                "description-cut-by-comment",
                result.lines["description"],
                "YAML ends the description at ' #'",
                "put quotes around the description",
            )
        )
