"""Skill folders and running services."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.router.service.running import Running, running, write_skill


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    write_skill(folder, "kite-repair", "Mend torn kite sails and broken spars.")
    write_skill(folder, "bread-bake", "Bake sourdough bread from a starter.", "requires: [oven]\n")
    for file in folder.glob("*/SKILL.md"):
        os.utime(file, (1e9, 1e9))  # written long ago: a first load need not wait for more
    return folder


@pytest.fixture
def short() -> Iterator[Path]:
    """A private folder whose path is short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="sr-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=["tcp", "unix"])
def service(request: pytest.FixtureRequest, skills: Path, short: Path) -> Iterator[Running]:
    """A service with the two skills, over TCP and over a Unix socket."""
    limits = (
        {"socket": short / "s"} if request.param == "unix" else {"allowed_roots": (skills.parent,)}
    )
    with running(skills, **limits) as found:
        yield found
