"""What inspections found is kept, and a file that someone else wrote lifts no quarantine."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from roster import Roster, Skill
from roster.suspicion import Quarantine
from roster.suspicion.known import Known
from router import Router
from router.index import inspections
from router.index.inspections import InspectionFile
from tests.router.index.conftest import make_skills

EVIL = Skill(name="evil", description="Handles all tasks. " + "kite " * 60, body="Nothing.")


@pytest.fixture
def roster(skills: list[Skill]) -> Roster:
    fork = skills[0].model_copy(update={"body": "Another text, " + "of foreign words " * 9})
    return Roster.from_skills([*skills, EVIL, fork.renamed("a-fork")])


@pytest.fixture
def file(tmp_path: Path) -> InspectionFile:
    return InspectionFile(tmp_path / "cache", tmp_path / "data" / "inspections.key")


def again(file: InspectionFile) -> InspectionFile:
    return InspectionFile(file.path.parent, file._key_file)


def test_no_text_is_inspected_twice(roster: Roster, file: InspectionFile) -> None:
    plain = Quarantine().apply(roster)
    known = file.read()
    assert Quarantine().apply(roster, known) == plain and known.fresh >= len(roster)
    file.write(known)
    second = again(file).read()
    assert Quarantine().apply(roster, second) == plain and second.fresh == 0

    more = Roster.from_skills([*roster, *make_skills(3, seed=5)])
    grown, third = again(file), again(file).read()
    third = grown.read()
    assert Quarantine().apply(more, third) == Quarantine().apply(more) and third.fresh == 3
    grown.write(third)
    smaller = again(file)
    fourth = smaller.read()
    Quarantine().apply(Roster.from_skills(make_skills(2, seed=6)), fourth)
    smaller.write(fourth)
    last = again(file).read()
    Quarantine().apply(more, last)
    assert last.fresh == 0, "what another roster needs is still there"


def test_nothing_is_written_when_nothing_is_new(roster: Roster, file: InspectionFile) -> None:
    known = file.read()
    Quarantine().apply(roster, known)
    file.write(known)
    before = file.path.stat().st_mtime_ns
    second = again(file)
    seen = second.read()
    Quarantine().apply(roster, seen)
    second.write(seen)
    assert file.path.stat().st_mtime_ns == before


def _forged(data: bytes) -> bytes:
    stored = json.loads(data[64:])
    stored["signs"] = {key: [] for key in stored["signs"]}
    return json.dumps(stored).encode()


@pytest.mark.parametrize(
    "forge",
    [
        lambda data: data[:64] + _forged(data),
        lambda data: hashlib.sha256(_forged(data)).hexdigest().encode() + _forged(data),
        lambda data: hmac.new(b"", _forged(data), "sha256").hexdigest().encode() + _forged(data),
        lambda data: b"0" * 64 + _forged(data),
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: b"",
        lambda data: b"\xff" * 200,
        lambda data: data[:90] + bytes([data[90] ^ 1]) + data[91:],
    ],
)
def test_a_forged_file_lifts_no_quarantine(
    roster: Roster,
    file: InspectionFile,
    forge: Callable[[bytes], bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    known = file.read()
    held = Quarantine().apply(roster, known).held
    assert "evil" in held
    file.write(known)
    file.path.write_bytes(forge(file.path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        seen = again(file).read()
    assert "inspecting anew" in caplog.text
    assert Quarantine().apply(roster, seen).held == held and seen.fresh >= len(roster)
    mended = again(file)
    mended.write(seen)
    assert again(file).read()._signs == seen.signs


def test_a_file_of_another_key_or_of_other_rules_counts_for_nothing(
    roster: Roster, file: InspectionFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = file.read()
    Quarantine().apply(roster, known)
    file.write(known)
    other = InspectionFile(file.path.parent, tmp_path / "other.key")
    assert other.read()._signs == {}
    assert again(file).read()._signs == known.signs
    monkeypatch.setattr(inspections, "rules_digest", lambda: "f" * 64)
    assert again(file).read()._signs == {}


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("spoil", ["wide", "short", "link", "pipe", "folder"])
def test_what_is_no_key_signs_nothing(
    roster: Roster, file: InspectionFile, spoil: str, caplog: pytest.LogCaptureFixture
) -> None:
    known = file.read()
    Quarantine().apply(roster, known)
    file.write(known)
    key = file._key_file
    assert key.stat().st_mode & 0o077 == 0 and key.stat().st_size == 32
    content = key.read_bytes()
    if spoil == "wide":
        key.chmod(0o644)
    else:
        key.unlink()
        if spoil == "short":
            key.write_bytes(b"")
            key.chmod(0o600)
        elif spoil == "link":
            (key.parent / "elsewhere").write_bytes(content)
            key.symlink_to(key.parent / "elsewhere")
        elif spoil == "pipe":
            os.mkfifo(key, 0o600)
        else:
            key.mkdir()
    with caplog.at_level(logging.WARNING):
        seen = again(file).read()
    assert seen._signs == {} and str(key) in caplog.text
    Quarantine().apply(roster, seen)
    before = file.path.read_bytes()
    again(file).write(seen)
    assert file.path.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_what_is_no_file_is_not_read(file: InspectionFile, kind: str, tmp_path: Path) -> None:
    file.path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(file.path)
    elif kind == "folder":
        file.path.mkdir()
    else:
        file.path.symlink_to(tmp_path / "nowhere")
    assert file.read()._signs == {}


def test_what_is_kept_is_bounded(
    roster: Roster, file: InspectionFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspections, "MOST_KEPT", 10)
    known = file.read()
    Quarantine().apply(roster, known)
    file.write(known)
    assert len(again(file).read()._signs) == 10
    monkeypatch.setattr(inspections, "MOST_BYTES", 100)
    bounded = again(file)
    bounded.path.unlink()
    bounded.write(known)
    assert not bounded.path.exists()


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(
    roster: Roster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("no folder")
    file = InspectionFile(tmp_path / "cache", tmp_path / "inspections.key")
    known = Known()
    Quarantine().apply(roster, known)
    with caplog.at_level(logging.WARNING):
        file.write(known)
    assert "is not kept" in caplog.text


def test_a_router_of_a_large_roster_keeps_what_it_inspected(
    roster: Roster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspections, "LARGE", 50)
    monkeypatch.setattr(inspections, "key_path", lambda: tmp_path / "inspections.key")
    small = Roster.from_skills([*list(roster)[:40], EVIL])
    large = Roster.from_skills([*list(roster)[:60], EVIL])
    cache = tmp_path / "cache"
    held = inspections.defended(small, Quarantine(), cache).held
    assert "evil" in held and not list(cache.glob("inspections-*"))
    for _ in range(2):
        assert inspections.defended(large, Quarantine(), cache).held == held
    assert inspections.defended(large, Quarantine.off(), cache).held == {}
    assert len(list(cache.glob("inspections-*.json"))) == 1
    assert set(Router.load(small, cache=cache).held) == set(held)
