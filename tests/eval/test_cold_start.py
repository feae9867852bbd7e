"""What a cold process costs is measured in real processes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from eval.cold_start import measure


def test_new_processes_are_timed(tmp_path: Path) -> None:
    skill = tmp_path / "kite-repair"
    skill.mkdir()
    (skill / "SKILL.md").write_text(
        "---\nname: kite-repair\ndescription: Mend a torn kite.\n---\nGlue the paper.\n"
    )
    found = measure(1, str(tmp_path))
    assert 0 < found["import_router_s"]["p50"] < found["first_suggestion_s"]["p50"]
    assert found["processes"] == 1


def test_a_process_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        measure(1, str(tmp_path / "missing"))
