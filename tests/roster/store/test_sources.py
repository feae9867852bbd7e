"""What can be staged, and what is refused with a reason."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster import Roster
from roster.store import SkillVersion, StageRefusedError, Store, read_source

WriteToml = Callable[..., Path]


def test_toml_fields_become_the_version(write_toml: WriteToml) -> None:
    record = read_source(write_toml()).record
    assert (record.name, record.version) == ("opening", "1")
    assert record.model_dump()["requires"] == ("list_stock",)
    assert record.model_dump()["instructions"] == "Read the stock.\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name="opening"\nversion="1"\ninstruction="Read"\n', "instruction"),
        ('name="Opening"\nversion="1"\ninstructions="Read"\n', "name"),
        ('name="opening"\nversion=1\ninstructions="Read"\n', "version"),
        ('name="opening"\nversion="1"\n', "instructions"),
        ('name="opening"\nversion="1"\ninstructions=""\n', "empty"),
        ('name="opening"\nversion="1"\ninstructions="x"\nrequires="list_stock"\n', "requires"),
        ('name="opening"\nversion="1\n', "line 2"),
        (f'name="opening"\nversion="1"\ninstructions="{"x" * 8193}"\n', "8192"),
        (f'name="opening"\nversion="1"\n#{"x" * 16_384}\n', "16384 bytes"),
        (f'name="opening"\nversion="1"\nrequires={["t"] * 17}\ninstructions="x"', "requires"),
        ("a=" + "[" * 3000, "TOML"),
    ],
)
def test_a_toml_that_is_not_exactly_right_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "skill.toml"
    path.write_text(text)
    with pytest.raises(StageRefusedError, match=says) as refusal:
        read_source(path)
    assert str(path) in str(refusal.value)


def test_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "skill.toml"
    path.write_bytes(b'name="a"\nversion="1"\ninstructions="\xff"\n')
    with pytest.raises(StageRefusedError, match="UTF-8"):
        read_source(path)


@pytest.mark.parametrize("name", ["skill.toml", "SKILL.md"])
def test_links_and_pipes_are_refused_at_once(tmp_path: Path, name: str) -> None:
    (tmp_path / "real.txt").write_text("name='a'")
    (tmp_path / name).symlink_to(tmp_path / "real.txt")
    with pytest.raises(StageRefusedError, match="symbolic link"):
        read_source(tmp_path / name)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(StageRefusedError, match="not a regular file"):
        read_source(tmp_path / name)


def test_a_file_that_grows_while_it_is_read_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "skill.toml"
    path.write_text('name="a"\nversion="1"\ninstructions="x"\n#')
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"x" * 4096)
                time.sleep(0.0005)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        time.sleep(0.05)
        with pytest.raises(StageRefusedError, match="larger than 16384 bytes"):
            read_source(path)
    finally:
        stop.set()
        writer.join()


def test_a_folder_lists_exactly_the_files_its_text_leads_to(
    write_folder: Callable[..., Path], store: Store
) -> None:
    folder = write_folder(
        "Run `scripts/list.py`, then read [the style](references/style.md).",
        {
            "scripts/list.py": "print(1)",
            "references/style.md": "See also more.md",
            "references/more.md": "Short words.",
            "references/unused.md": "Nobody names this.",
            "notes.txt": "nor this",
        },
    )
    staging = read_source(folder)
    record = staging.record
    paths = [file["path"] for file in record.model_dump()["files"]]
    assert paths == ["references/more.md", "references/style.md", "scripts/list.py"]
    assert staging.unlisted == ("notes.txt", "references/unused.md")
    assert store.skills.stage(staging)
    style = store.skills.get("release-notes", "1").files[1]
    assert store.file(style.sha256) == b"See also more.md"
    (folder / "notes.txt").write_text("changed")
    assert read_source(folder).record.digest == record.digest
    (folder / "scripts/list.py").write_text("print(2)")
    assert read_source(folder).record.digest != record.digest


def test_a_link_that_leads_nowhere_is_reported(write_folder: Callable[..., Path]) -> None:
    staging = read_source(write_folder("Read [this](references/gone.md) and [web](https://a.b/c)."))
    assert staging.missing == ("references/gone.md",)


def test_a_listed_file_must_be_a_file(write_folder: Callable[..., Path], tmp_path: Path) -> None:
    folder = write_folder("Read secret.txt.")
    (tmp_path / "outside.txt").write_text("outside")
    (folder / "secret.txt").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(StageRefusedError, match="symbolic link"):
        read_source(folder)
    (folder / "secret.txt").unlink()
    os.mkfifo(folder / "secret.txt")
    with pytest.raises(StageRefusedError, match="not a regular file"):
        read_source(folder)
    (folder / "secret.txt").unlink()
    (folder / "secret.txt").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(StageRefusedError, match="larger than"):
        read_source(folder)


@pytest.mark.parametrize(
    ("front", "says"),
    [
        ("colour: blue\nversion: '1'", r"SKILL\.md:4: the field 'colour' is unknown"),
        ("license: MIT", "no version"),
        ("version: 'one two'", "version"),
        ("version: '1'\nversion: '2'", "twice"),
        ("version: '1'\nbroken: [", "the field 'broken' is unknown"),
        ("version: '1'\nlicense: &a MIT", "anchors"),
    ],
)
def test_a_skill_file_that_is_not_exactly_right_is_refused(
    write_folder: Callable[..., Path], front: str, says: str
) -> None:
    with pytest.raises(StageRefusedError, match=says):
        read_source(write_folder("Body.", front=front))


def test_the_version_can_be_given_but_not_against_the_file(
    write_folder: Callable[..., Path],
) -> None:
    assert read_source(write_folder("Body.", front="license: MIT"), "3").record.version == "3"
    with pytest.raises(StageRefusedError, match="leave --version out"):
        read_source(write_folder("Body."), "3")


def test_what_is_no_skill_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StageRefusedError, match="does not exist"):
        read_source(tmp_path / "gone")
    with pytest.raises(StageRefusedError, match=r"holds no SKILL\.md"):
        read_source(tmp_path)
    (tmp_path / "skill.zip").write_bytes(b"PK")
    with pytest.raises(StageRefusedError, match="is no skill"):
        read_source(tmp_path / "skill.zip")


@given(st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_staged_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name in ("skill.toml", "SKILL.md"):
        (folder / name).write_bytes(data)
        try:
            staging = read_source(folder / name)
        except StageRefusedError as refusal:
            assert "\n" not in str(refusal).strip()
        else:
            assert staging.record.name


@pytest.mark.parametrize(
    ("description", "read"),
    [
        ("Fix things: quickly. Use when: it broke", "Fix things: quickly. Use when: it broke"),
        ("'Fix' and mend it. Use when it broke", "'Fix' and mend it. Use when it broke"),
        ("@mention people. Use when asked", "@mention people. Use when asked"),
        ("Look at PR #12 and answer. Use when asked", "Look at PR #12 and answer. Use when asked"),
    ],
)
def test_what_yaml_rejects_is_staged_as_a_roster_reads_it(
    tmp_path: Path, store: Store, description: str, read: str
) -> None:
    folder = tmp_path / "mend"
    folder.mkdir()
    (folder / "SKILL.md").write_text(
        f"---\nname: mend\nversion: 1\ndescription: {description}\n---\nMend it.\n"
    )
    staging = read_source(folder)
    assert isinstance(staging.record, SkillVersion)
    assert staging.record.description == read
    assert staging.record.description == Roster.from_directory(folder)["mend"].description
    assert len(staging.repairs) == 1 and staging.repairs[0].startswith("line 4: ")
    store.skills.stage(staging)
    assert store.skills.log()[-1].evidence["repairs"] == list(staging.repairs)
    assert store.skills.get("mend", "1") == staging.record
    assert store.check() == []
