"""Finding out before the long, or paid, part of a command that its result could not be written."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import click


def check_outputs(*paths: str | None) -> None:
    """Refuse files that could not be written.

    Args:
        paths: Files a command is going to write; None for one that was not asked for.

    Raises:
        click.UsageError: With the path and the remedy.
    """
    for given in paths:
        if given is None:
            continue
        path = Path(given).expanduser()
        if path.is_dir():
            raise click.UsageError(f"{given}: is a folder; give a file")
        if not path.parent.is_dir():
            raise click.UsageError(f"{given}: there is no folder {path.parent}; make it first")
        # A device or pipe is written to as it is; anything else is put in place of what is there.
        place = path if path.exists() and not path.is_file() else path.parent
        if not os.access(place, os.W_OK):
            raise click.UsageError(f"{given}: cannot be written: no permission in {place}")


def check_extra(option: str, extra: str, *modules: str) -> None:
    """Refuse an option whose optional dependencies are not installed.

    Args:
        option: The option that needs them.
        extra: The extra of this project that brings them.
        modules: Their import names.

    Raises:
        click.UsageError: With the command that installs them.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise click.UsageError(
            f"{option} needs {' and '.join(missing)}: pip install 'skill-router[{extra}]'"
        )
