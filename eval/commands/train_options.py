"""Options that the training commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


def data_options(command: Command) -> Command:
    """Add `--data` (as `folders`) and `--archive`: where labelled rosters are found."""
    for option in reversed(
        [
            click.option(
                "--data",
                "folders",
                multiple=True,
                metavar="DIR",
                help="Rosters with labelled turns; repeat.",
            ),
            click.option(
                "--archive",
                metavar="DIR",
                help="Unpacked skill folders that requests/community lists.",
            ),
        ]
    ):
        command = option(command)
    return command
