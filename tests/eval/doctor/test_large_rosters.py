"""The doctor on rosters that people use, within a minute."""

from __future__ import annotations

import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eval.doctor.examine import examine
from roster import Roster
from router.local.encoder import load_encoder

zstandard = pytest.importorskip("zstandard")


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.isfile() and member.name.endswith("SKILL.md"):
                content = tar.extractfile(member)
                assert content is not None
                yield member.name, content.read()


def _unpacked(archive: Path, folder: Path, most: int) -> Roster:
    for count, (name, data) in enumerate(_members(archive)):
        if count == most:
            break
        place = folder / str(count) / Path(name).parent.name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_bytes(data)
    return Roster.from_directory(folder, duplicates="namespace")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"), [("hermes-0.19.0.tar.zst", 1_000), ("community-20k.tar.zst", 2_000)]
)
def test_a_roster_in_use_is_examined_in_a_minute(
    shared: Path, tmp_path: Path, name: str, most: int
) -> None:
    loaded = _unpacked(shared / "rosters" / name, tmp_path, most)
    assert len(loaded) > 100
    started = time.process_time()
    report, _ = examine(loaded, load_encoder())
    # Processor time of both cores: what else the machine does must not count.
    assert time.process_time() - started < 120
    assert len(report.findings) > 50
    assert {finding.skill for finding in report.findings} <= set(loaded.names)
