"""Writers of skills and an open store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roster.store import Store

WriteToml = Callable[..., Path]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.fixture
def write_toml(tmp_path: Path) -> WriteToml:
    """Write a one-file skill and return its path."""

    def write(name: str = "opening", version: str = "1", text: str = "Read the stock.") -> Path:
        path = tmp_path / f"{name}-{version}.toml"
        path.write_text(
            f'name = "{name}"\nversion = "{version}"\nrequires = ["list_stock"]\n'
            f"instructions = {json.dumps(text + chr(10))}\n"
        )
        return path

    return write


@pytest.fixture
def write_folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a skill folder with more files and return it."""

    def write(body: str, files: dict[str, str] | None = None, front: str = "version: '1'") -> Path:
        folder = tmp_path / "release-notes"
        folder.mkdir(exist_ok=True)
        (folder / "SKILL.md").write_text(
            "---\nname: release-notes\ndescription: Drafts release notes. Use when asked what "
            f"shipped.\n{front}\n---\n{body}\n"
        )
        for name, text in (files or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    return write
