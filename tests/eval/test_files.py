"""Results are written whole, and never over a device or a link."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from eval.files import OutputError, write_whole


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    assert write_whole(path, "new é") == path
    assert path.read_text(encoding="utf-8") == "new é"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_a_link_keeps_pointing_at_the_file_that_changed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert read == ["through"] and pipe.is_fifo()


def test_a_device_stays_a_device() -> None:
    write_whole("/dev/null", "gone")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("target", ["", "missing/out.txt"])
def test_what_cannot_be_written_is_named(tmp_path: Path, target: str) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_whole(tmp_path / target, "x")
    assert list(tmp_path.iterdir()) == []
