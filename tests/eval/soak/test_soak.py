"""The soak: what it changes, what it calls a fault, and a short one for real."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.soak.__main__ import _table, soak
from eval.soak.clients import Seen, _refused
from eval.soak.process import ServiceProcess
from eval.soak.skills import ChangingSkills
from eval.soak.verdict import verdict
from roster.layers import layered


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="s-") as folder:
        yield Path(folder)


def test_every_state_of_the_folder_is_known(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.soak.skills._GAP_S", 0.0)
    skills = ChangingSkills(place / "skills", seed=3)
    for _ in range(24):
        skills.change()
        roster = layered([str(skills.folder)])
        assert skills.known[roster.digest] == frozenset(roster.names)
    assert len(skills.changes) >= 6 and skills.changes["mended"] >= 3
    digest = skills.settle()
    whole = layered([str(skills.folder)])
    assert digest == whole.digest in skills.known
    assert not [problem for problem in whole.problems if problem.is_error]


def judged(place: Path, **changes: Any) -> dict[str, Any]:
    """The verdict on a run without faults, but for the changes."""
    skills = ChangingSkills(place / "skills", seed=1)
    service = ServiceProcess(place, skills.folder)
    service.starts, service.resident = 2, [[50.0] * 5, changes.pop("resident", [100.0] * 40)]
    service.down = [(10.0, 12.0)]
    service.cache.mkdir()
    service.errors.touch()
    for number in range(changes.pop("drafts", 0)):
        (service.cache / f"{number}.tmp").touch()
    service.decisions.write_text(changes.pop("log", '{"name": null}\n' * 9))
    (digest,) = skills.known
    seen = Seen()
    seen.outcomes.update({"suggestion": 5})
    seen.answers.update({(digest, "mend-kites"): 5, (digest, None): 1})
    skills.known["f" * 64] = frozenset()
    seen.answers["f" * 64, None] += 1
    seen.faults.update(changes.pop("faults", {}))
    seen.answers.update(changes.pop("answers", {}))
    seen.lost += changes.pop("lost", [])
    recovered = changes.pop("recovered_s", 1.0)
    assert not changes
    return verdict(service, skills, seen, recovered, seconds=60.0)


def unmet(found: dict[str, Any]) -> list[str]:
    return [name for name, met in found["met"].items() if not met]


def test_a_run_without_faults_meets_everything(place: Path) -> None:
    found = judged(place, lost=[(9.0, 10.1), (11.0, 11.5), (12.4, 12.5)], log='{"a": 1}\n{"b')
    assert unmet(found) == []
    assert found["lost_outside_restarts"] == 0 and found["torn_log_lines"] == 1
    assert "met: memory flat" in _table(found)
    json.dumps(found)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"answers": {("0" * 64, None): 1}}, "nothing but clean answers"),
        ({"answers": {("f" * 64, "mend-kites"): 1}}, "nothing but clean answers"),
        ({"faults": {"status 500": 1}}, "nothing but clean answers"),
        ({"lost": [(20.0, 21.0)]}, "no connection lost"),
        ({"resident": [100.0 + n for n in range(80)]}, "memory flat"),
        ({"resident": [100.0] * 5}, "memory flat"),
        ({"recovered_s": None}, "serves what is on disk"),
        ({"recovered_s": 100.0}, "serves what is on disk"),
        ({"log": "{\n" * 40}, "the log is whole"),
        ({"drafts": 3}, "no more drafts"),
    ],
)
def test_each_fault_is_one(place: Path, changes: dict[str, Any], says: str) -> None:
    (name,) = unmet(judged(place, **changes))
    assert name.startswith(says)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b'{"status": 500, "detail": "x"}'),
        (503, b'{"status": 500, "detail": "x"}'),
        (422, b'{"status": 422, "detail": ""}'),
        (400, b"Traceback"),
        (400, b'{"status": 400, "detail": "Traceback (most recent call last)"}'),
    ],
)
def test_an_unclean_refusal_is_a_fault(status: int, body: bytes) -> None:
    with pytest.raises((AssertionError, ValueError)):
        _refused(status, body)
    assert _refused(429, b'{"status": 429, "detail": "busy"}') == "busy"


@pytest.mark.slow
def test_a_short_soak(place: Path) -> None:
    found = soak(place, seconds=75, clients=16)
    assert unmet(found) == [], found
    assert found["starts"] >= 2 and found["requests"] > 100
