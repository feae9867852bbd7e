"""`--out-of-fold`: models that were trained without some groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
from pydantic import TypeAdapter, ValidationError

Loaded = TypeVar("Loaded")


def by_group(path: str | None, load: Callable[[str], Loaded]) -> dict[str, Loaded]:
    """What a JSON object of group to folder or file names, each loaded once."""
    if path is None:
        return {}
    try:
        data = Path(path).expanduser().read_bytes()
        folders = TypeAdapter(dict[str, str]).validate_json(data)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        raise click.ClickException(
            f"{path}: must be a JSON object, group to the folder or file of a model"
        ) from error
    loaded = {folder: load(folder) for folder in dict.fromkeys(folders.values())}
    return {group: loaded[folder] for group, folder in folders.items()}
