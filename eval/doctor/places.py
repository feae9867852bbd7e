"""Where in its file a finding is about."""

from __future__ import annotations

from roster.frontmatter import parse_frontmatter
from roster.problem import Problem
from roster.reading import decode, read_bytes

_FIELD = {"name-not-folder": "name"}


class Places:
    """Lines of fields, each file read once."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[dict[str, int], int]] = {}

    def line(self, path: str, code: str) -> int:
        """The 1-based line of the field a kind of finding is about; 1 when it cannot be told.

        Args:
            path: The skill's file.
            code: The kind of finding.
        """
        if path not in self._lines:
            self._lines[path] = self._read(path)
        fields, body = self._lines[path]
        if code == "body-over-budget":
            return body
        return fields.get(_FIELD.get(code, "description"), 1)

    def _read(self, path: str) -> tuple[dict[str, int], int]:
        if not path.lower().endswith(".md"):
            return {}, 1
        data = read_bytes(path)
        if isinstance(data, Problem):
            return {}, 1
        front = parse_frontmatter(decode(data, path)[0])
        return {key.casefold(): line for key, line in front.lines.items()}, front.body_line
