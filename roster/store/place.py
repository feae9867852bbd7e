"""Where the store lies when nobody says where."""

from __future__ import annotations

import os
from pathlib import Path


def default_path() -> Path:
    """`SKILL_ROUTER_DB`, else ``store.sqlite`` in the user's data folder."""
    if os.environ.get("SKILL_ROUTER_DB"):
        return Path(os.environ["SKILL_ROUTER_DB"]).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("skill-router", appauthor=False)) / "store.sqlite"
