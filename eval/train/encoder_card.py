"""Model cards of the stages before the heads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.files import write_whole


def write_stage_card(
    path: Path, what: str, about: str, made_of: Mapping[str, Any], scores: Mapping[str, Any]
) -> Path:
    """Write a card as Markdown.

    Args:
        path: The card.
        what: What it is the card of.
        about: One paragraph on what that is.
        made_of: Settings and data digests.
        scores: Figures by name; a figure may be a mapping of its own.
    """
    rows = []
    for name, value in scores.items():
        if isinstance(value, Mapping):
            rows += [f"| {name} {inner} | {figure} |" for inner, figure in value.items()]
        else:
            rows.append(f"| {name} | {value} |")
    lines = [
        f"# Model card: {what}",
        "",
        about,
        "",
        "| measure | value |",
        "| --- | --- |",
        *rows,
        "",
        "Made of (digests are SHA-256):",
        "",
        "```json",
        json.dumps(made_of, indent=2, ensure_ascii=True),
        "```",
    ]
    return write_whole(path, "\n".join(lines) + "\n")
