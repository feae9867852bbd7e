"""Where the labelled turns lie."""

from __future__ import annotations

from pathlib import Path


def requests_folder() -> Path:
    """The folder of labelled turns: beside the packages in a checkout, inside `eval` in a wheel."""
    beside = Path(__file__).parent.parent / "requests"
    return beside if (beside / "bundled.jsonl").is_file() else Path(__file__).parent / "requests"
