"""YAML frontmatter as a plain tree of texts, built within bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

MAX_DEPTH = 32
"""Deepest nesting accepted."""

MAX_NODES = 20_000
"""Most scalars and collections accepted in one frontmatter."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Value = str | list["Value"] | dict[str, "Value"]
"""A frontmatter value. Every scalar is a text: ``1.10`` stays ``1.10`` and ``no`` stays ``no``."""


class YamlRefusedError(ValueError):
    """YAML that is malformed, or that is refused because it could cost too much.

    Attributes:
        code: Short identifier of the reason.
        line: 1-based line within the parsed text, or None.
    """

    def __init__(self, code: str, message: str, line: int | None) -> None:
        """Keep code and line beside the message."""
        self.code = code
        self.line = line
        super().__init__(message)


@dataclass
class YamlTree:
    """The outcome of `read_yaml`.

    Attributes:
        fields: The top-level mapping; the first of two equal keys wins.
        lines: 1-based line of each top-level key.
        repeated: Top-level keys that occur again, with the line of the second occurrence.
        plain_lines: Line of every top-level value that is an unquoted one-line text.
    """

    fields: dict[str, Value] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    repeated: dict[str, int] = field(default_factory=dict)
    plain_lines: dict[str, int] = field(default_factory=dict)


@dataclass
class _Open:
    """A collection that is being filled; `key` is the key that waits for its value."""

    value: list[Value] | dict[str, Value]
    key: str | None = None
    skips: bool = False


def read_yaml(text: str) -> YamlTree:
    """Read a YAML mapping event by event, without recursion.

    Anchors and aliases are refused, so no document can grow when read; so are documents nested
    deeper than `MAX_DEPTH` or with more than `MAX_NODES` nodes, and private tags, which in a
    skill are text: ``!important: ...``. Nothing is ever constructed but texts, lists, mappings.

    Args:
        text: The YAML between the fences.

    Returns:
        The top-level mapping with its positions.

    Raises:
        YamlRefusedError: If the text is not a YAML mapping or is refused.
    """
    try:
        return _build(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise YamlRefusedError("yaml-rejected", error.problem or "malformed", line) from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", None) or "malformed"
        raise YamlRefusedError("yaml-rejected", str(reason), None) from None


def _build(text: str) -> YamlTree:
    tree = YamlTree()
    stack: list[_Open] = []
    nodes = documents = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        line = _line(event)
        nodes += 1
        if event.anchor is not None:
            raise YamlRefusedError("yaml-alias", "YAML anchors and aliases are not accepted", line)
        if str(getattr(event, "tag", None)).startswith("!"):
            raise YamlRefusedError("yaml-tag", "YAML tags are not accepted", line)
        if nodes > MAX_NODES or len(stack) >= MAX_DEPTH:
            raise YamlRefusedError("yaml-too-deep", "the YAML is nested too deep or too long", line)
        if stack:
            _add(event, line, stack, tree)
            continue
        documents += 1
        if documents > 1 or not isinstance(event, yaml.MappingStartEvent):
            raise YamlRefusedError("yaml-rejected", "this is not one list of `key: value`", line)
        stack.append(_Open(tree.fields))
    if not documents:
        raise YamlRefusedError("yaml-rejected", "there is no `key: value`", 1)
    return tree


def _add(event: yaml.NodeEvent, line: int, stack: list[_Open], tree: YamlTree) -> None:
    """Put one scalar, or the start of one collection, where it belongs."""
    parent = stack[-1]
    scalar = event.value if isinstance(event, yaml.ScalarEvent) else None
    if isinstance(parent.value, dict) and parent.key is None:
        if scalar is None:
            raise YamlRefusedError("yaml-rejected", "a key is not a text", line)
        parent.key = scalar
        parent.skips = parent.key in parent.value
        if len(stack) == 1:
            (tree.repeated if parent.skips else tree.lines).setdefault(parent.key, line)
        return
    value: Value = {} if scalar is None else scalar
    if isinstance(event, yaml.SequenceStartEvent):
        value = []
    if isinstance(parent.value, list):
        parent.value.append(value)
    else:
        assert parent.key is not None
        if len(stack) == 1 and not parent.skips and _is_plain_line(event):
            tree.plain_lines[parent.key] = line
        if not parent.skips:
            parent.value[parent.key] = value
        parent.key, parent.skips = None, False
    if not isinstance(value, str):
        stack.append(_Open(value))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _is_plain_line(event: yaml.NodeEvent) -> bool:
    """Whether an event is an unquoted text on one line."""
    if not isinstance(event, yaml.ScalarEvent) or event.style:
        return False
    start, end = event.start_mark, event.end_mark
    return bool(event.value and start and end and start.line == end.line)
