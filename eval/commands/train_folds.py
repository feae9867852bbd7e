"""`--out-of-fold`: models that were trained without some groups."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

Loaded = TypeVar("Loaded")


def by_group(path: str | None, load: Callable[[str], Loaded]) -> dict[str, Loaded]:
    """What a JSON object of group to folder names, each folder loaded once."""
    if path is None:
        return {}
    try:
        folders = dict(json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise click.ClickException(
            f"{path}: cannot be read as a JSON object of group to folder ({error})"
        ) from error
    loaded = {folder: load(folder) for folder in dict.fromkeys(folders.values())}
    return {group: loaded[folder] for group, folder in folders.items()}
