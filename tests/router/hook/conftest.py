"""A home of its own for every test: no test sees or writes the user's settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SKILL = "---\nname: {name}\ndescription: {description}\n---\nDo it.\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "SKILL_ROUTER_SERVICE", "SKILL_ROUTER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("SKILL_ROUTER_RUNTIME", str(runtime))
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a skill into a folder of skills below the test's folder; the folder of skills."""

    def _write(folder: str, name: str, description: str = "Does things.") -> Path:
        place = tmp_path / folder / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "SKILL.md").write_text(SKILL.format(name=name, description=description))
        return place.parent

    return _write
