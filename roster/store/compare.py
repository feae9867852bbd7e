"""What changed between two versions, line by line."""

from __future__ import annotations

import difflib
import json
from typing import Any

from roster.store.records import Stored
from roster.text import visible


def diff_versions(before: Stored, after: Stored) -> list[str]:
    """A unified diff of two contents, field by field.

    Args:
        before: The one version.
        after: The other.

    Returns:
        Lines without breaks, hidden characters written as escapes; empty for equal contents.
    """
    lines = difflib.unified_diff(
        _lines(before),
        _lines(after),
        f"{before.name} {before.version}",
        f"{after.name} {after.version}",
        lineterm="",
    )
    return [visible(line) for line in lines]


def _lines(row: Stored) -> list[str]:
    content: dict[str, Any] = json.loads(row.content)
    lines: list[str] = []
    for key in sorted(content.keys() - {"version"}):
        value = content[key]
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        lines.append(f"[{key}]")
        lines.extend(text.split("\n"))
    return lines
