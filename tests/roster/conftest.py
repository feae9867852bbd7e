"""Writers of skill folders for the roster tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

WriteSkill = Callable[..., Path]

DEFAULT = "---\nname: {name}\ndescription: Waters the plants of a flat.\n---\n# Water\n\nPour.\n"


@pytest.fixture
def write_skill(tmp_path: Path) -> WriteSkill:
    """Write ``<tmp>/skills/<place>/SKILL.md`` and return the file."""

    def write(place: str, content: str | bytes | None = None, file: str = "SKILL.md") -> Path:
        folder = tmp_path / "skills" / place
        folder.mkdir(parents=True, exist_ok=True)
        if content is None:
            content = DEFAULT.format(name=folder.name)
        data = content.encode() if isinstance(content, str) else content
        (folder / file).write_bytes(data)
        return folder / file

    return write


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    """The folder that `write_skill` writes into."""
    folder = tmp_path / "skills"
    folder.mkdir(exist_ok=True)
    return folder
