"""Databases that are not what they should be, and disks that refuse."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from roster.store import SkillVersion, Staging, Store, StoreError, TransferError, read_source

WriteToml = Callable[..., Path]


def _fill(path: Path, write_toml: WriteToml, count: int = 3) -> bytes:
    with Store(path) as store:
        for version in range(count):
            store.skills.stage(read_source(write_toml(version=str(version))))
        store.skills.activate("opening", "1", evaluate=lambda c, b: {"a": True}, required={"a"})
    return path.read_bytes()


def test_a_newer_database_is_left_alone(tmp_path: Path, write_toml: WriteToml) -> None:
    path = tmp_path / "store.sqlite"
    _fill(path, write_toml)
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"newer version of skill-router \(schema 99"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["text", "header", "pages", "cut"])
def test_a_corrupt_file_is_named_and_left_alone(
    tmp_path: Path, write_toml: WriteToml, damage: str
) -> None:
    path = tmp_path / "store.sqlite"
    data = bytearray(_fill(path, write_toml, 80))
    if damage == "text":
        data = bytearray(b"this is no database\n" * 400)
    elif damage == "header":
        data[0:16] = b"\0" * 16
    elif damage == "pages":
        data[4096:] = os.urandom(len(data) - 4096)
    else:
        data = data[: len(data) // 2]
    path.write_bytes(data)
    found = ""
    try:
        with Store(path) as store:
            found = "; ".join(str(problem) for problem in store.check())
    except StoreError as error:
        found = str(error)
    assert (str(path) in found and "estore a copy" in found) or "another program" in found
    assert path.read_bytes() == bytes(data)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE versions (a)")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store(path)
    assert path.read_bytes() == before


def test_a_path_that_can_be_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a regular file"):
        Store(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="not a regular file"):
        Store(tmp_path / "pipe")
    with pytest.raises(StoreError, match="there is no store"):
        Store(tmp_path / "gone.sqlite", create=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"folder cannot be made|cannot be opened"):
        Store(tmp_path / "file" / "store.sqlite")
    with pytest.raises(StoreError, match="cannot be"):
        Store("/proc/none/store.sqlite")


READ_ONLY = """
import subprocess, sys
folder, path = sys.argv[1], sys.argv[2]
for command in (["mount", "--bind", folder, folder], ["mount", "-o", "remount,bind,ro", folder]):
    if subprocess.run(command, capture_output=True).returncode:
        sys.exit(77)
from roster.store import Store, StoreError, read_source
with Store(path, create=False) as store:
    assert store.read_only
    assert [skill.version for skill in store.snapshot().skills] == ["1"]
    assert len(store.skills.log()) == 4 and store.check() == []
    for change in (lambda: store.skills.stage(read_source(sys.argv[3])),
                   lambda: store.skills.rollback("opening")):
        try:
            change()
        except StoreError as error:
            assert "read-only disk" in str(error), error
        else:
            raise AssertionError("it was written")
try:
    Store(folder + "/new.sqlite")
except StoreError as error:
    print("refused:", error)
"""


def test_a_read_only_disk_can_be_read(tmp_path: Path, write_toml: WriteToml) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    _fill(folder / "store.sqlite", write_toml)
    run = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", READ_ONLY, str(folder),
         str(folder / "store.sqlite"), str(write_toml(version="9"))],
        capture_output=True, text=True,
    )  # fmt: skip
    if run.returncode == 77 or "unshare failed" in run.stderr or "Operation not" in run.stderr:
        pytest.skip("no mounts here")
    assert run.returncode == 0, run.stderr
    assert "refused:" in run.stdout


FULL = """
import resource, signal, subprocess, sys
from pathlib import Path
from roster.store import SkillVersion, Staging, Store, StoreError
folder, how = Path(sys.argv[1]), sys.argv[2]
if how == "disk":
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        sys.exit(77)
with Store(folder / "store.sqlite") as store:
    if how == "limit":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    done, message = 0, ""
    try:
        for number in range(10_000):
            record = SkillVersion(name="a", version=str(number), instructions="x" * 2000)
            store.skills.stage(Staging(record=record, source_sha256="0" * 64))
            done += 1
    except StoreError as error:
        message = str(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
assert done > 5, done
assert "nothing was changed" in message, message
assert how == "limit" or "the disk is full" in message, message
with Store(folder / "store.sqlite") as store:
    assert len(store.skills.versions()) == done
    assert store.check() == [], store.check()
print("whole")
"""


@pytest.mark.parametrize("how", ["limit", "disk"])
def test_a_disk_that_takes_no_more_loses_nothing(tmp_path: Path, how: str) -> None:
    prefix = ["unshare", "--mount"] if how == "disk" else []
    run = subprocess.run(
        [*prefix, sys.executable, "-c", FULL, str(tmp_path), how], capture_output=True, text=True
    )
    if run.returncode == 77 or "unshare failed" in run.stderr:
        pytest.skip("no mounts here")
    assert run.stdout == "whole\n", run.stderr


def test_export_and_import_restore_everything(
    tmp_path: Path, write_folder: Callable[..., Path]
) -> None:
    with Store(tmp_path / "a.sqlite") as first:
        folder = write_folder("Read style.md.", {"style.md": "Short words."})
        first.skills.stage(read_source(folder))
        first.skills.activate(
            "release-notes", "1", evaluate=lambda c, b: {"a": True}, required={"a"}
        )
        assert first.export(tmp_path / "all.jsonl") == 1
        with Store(tmp_path / "b.sqlite") as second:
            assert second.import_(tmp_path / "all.jsonl") == 1
            assert second.snapshot() == first.snapshot()
            assert second.skills.log() == first.skills.log()
            assert second.file(second.skills.get("release-notes", "1").files[0].sha256) == (
                b"Short words."
            )
            assert second.import_(tmp_path / "all.jsonl") == 0
            assert second.check() == []


def test_import_into_a_store_in_use_activates_nothing(
    tmp_path: Path, store: Store, write_toml: WriteToml
) -> None:
    _fill(tmp_path / "a.sqlite", write_toml)
    with Store(tmp_path / "a.sqlite") as first:
        first.export(tmp_path / "all.jsonl")
    store.skills.stage(read_source(write_toml("reporting")))
    assert store.import_(tmp_path / "all.jsonl") == 3
    assert store.snapshot().rows == ()
    assert [event.decision for event in store.skills.log("opening")] == ["imported"] * 3
    assert store.check() == []


def test_an_import_is_taken_whole_or_not_at_all(
    tmp_path: Path, store: Store, write_toml: WriteToml
) -> None:
    _fill(tmp_path / "a.sqlite", write_toml)
    with Store(tmp_path / "a.sqlite") as first:
        first.export(tmp_path / "all.jsonl")
    data = (tmp_path / "all.jsonl").read_bytes()
    broken = tmp_path / "broken.jsonl"
    for text in (data[: len(data) // 2], data.replace(b"stock", b"shelf"), b"", b"[]\n", b"{}\n",
                 data[: data.rstrip().rfind(b"\n") + 1]):  # fmt: skip
        broken.write_bytes(text)
        with pytest.raises(TransferError, match=r"broken\.jsonl"):
            store.import_(broken)
    store.skills.stage(read_source(write_toml(version="2", text="Other.")))
    with pytest.raises(TransferError, match="other content; nothing was imported"):
        store.import_(tmp_path / "all.jsonl")
    assert [row.version for row in store.skills.versions()] == ["2"]
    with pytest.raises(TransferError, match="cannot be written"):
        store.export(tmp_path / "gone" / "all.jsonl")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TransferError, match="not a regular file"):
        store.export(tmp_path / "pipe")
    assert store.check() == []


@pytest.mark.slow
def test_ten_thousand_versions_of_one_skill(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        for number in range(10_000):
            record = SkillVersion(name="a", version=str(number), instructions=f"Step {number}.")
            store.skills.stage(Staging(record=record, source_sha256="0" * 64))
        for version in ("17", "9999"):
            store.skills.activate("a", version, evaluate=lambda c, b: {"a": True}, required={"a"})
        assert store.skills.rollback("a") == "17"
        assert len(store.skills.versions("a")) == 10_000
        assert len(store.skills.log("a", last=5)) == 5
        with pytest.raises(StoreError, match="it has 10000, the newest: 9995"):
            store.skills.get("a", "x")
        assert store.check() == []
