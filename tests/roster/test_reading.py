"""Bounded reads and decoding."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.problem import Problem
from roster.reading import decode, read_bytes


def refusal(path: Path, max_bytes: int = 100) -> Problem:
    result = read_bytes(str(path), max_bytes)
    assert isinstance(result, Problem)
    assert result.is_error and result.remedy
    return result


def test_a_file_of_the_limit_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x" * 100)
    assert read_bytes(str(file), 100) == b"x" * 100
    file.write_bytes(b"x" * 101)
    assert refusal(file).code == "too-large"


def test_a_file_that_grows_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x" * 10)
    real_read, calls = os.read, 0

    def growing_read(handle: int, size: int) -> bytes:
        nonlocal calls
        calls += 1
        with file.open("ab") as out:
            out.write(b"y" * 10)
        return real_read(handle, size)

    monkeypatch.setattr(os, "read", growing_read)
    assert refusal(file, 64).code == "too-large"
    assert calls < 10


def test_links_pipes_folders_and_devices_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "link").code == "symlink"
    assert refusal(tmp_path / "loop").code == "symlink"
    assert refusal(tmp_path / "pipe").code == "not-a-file"
    assert refusal(tmp_path).code == "not-a-file"
    assert refusal(Path("/dev/zero")).code == "not-a-file"
    assert refusal(tmp_path / "none").code == "unreadable"
    assert refusal(tmp_path / "nul\x00").code == "unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("x")
    file.chmod(0)
    assert "Permission denied" in refusal(file).message


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(50):
        read_bytes(str(tmp_path), 10)
        read_bytes("/dev/zero", 10)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize(
    ("data", "text", "code", "line"),
    [
        (b"a\r\nb\rc", "a\nb\nc", None, None),
        (b"\xef\xbb\xbfa", "a", None, None),
        (b"a\nb\xff", "a\nb\ufffd", "not-utf-8", 2),
        (b"a\n\nb\x00", "a\n\nb\ufffd", "nul", 3),
        ("é\n".encode("utf-16"), "é\n", "not-utf-8", 1),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd", "not-utf-8", 1),
    ],
)
def test_decode(data: bytes, text: str, code: str | None, line: int | None) -> None:
    decoded, problems = decode(data, "f")
    assert decoded == text
    assert [(p.code, p.line, p.severity) for p in problems] == (
        [(code, line, "warning")] if code else []
    )


@given(st.binary())
def test_decoded_text_can_be_encoded_and_has_no_nul(data: bytes) -> None:
    text, _ = decode(data, "f")
    text.encode()
    assert not set(text) & {"\x00", "\r"}
