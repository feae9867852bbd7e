"""The walk through folder trees."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roster import Roster
from roster.discover import discover


def places(root: Path) -> list[str]:
    return ["/".join(item.parts) for item in discover(str(root))[0]]


def test_every_layout_is_found_in_path_order(
    write_skill: Callable[..., Path], skills: Path
) -> None:
    expected = ["", "a", "a/b", "b/skills/c", "home/water", "z"]
    for place in random.Random(7).sample(expected, len(expected)):
        write_skill(place)
    assert places(skills) == expected


def test_any_case_of_the_file_name_and_nothing_else(
    write_skill: Callable[..., Path], skills: Path
) -> None:
    write_skill("a", file="skill.md")
    write_skill("b", file="Skill.MD")
    write_skill("c", file="SKILLS.md")
    write_skill("d", file="SKILL.md.bak")
    assert places(skills) == ["a", "b"]


def test_two_skill_files_in_one_folder_are_named(
    write_skill: Callable[..., Path], skills: Path
) -> None:
    write_skill("a")
    other = write_skill("a", file="skill.md")
    if len(list((skills / "a").iterdir())) < 2:
        pytest.skip("this disk does not tell the cases apart")
    found, problems = discover(str(skills))
    assert [item.path for item in found] == [str(skills / "a" / "SKILL.md")]
    assert [(p.path, p.code) for p in problems] == [(str(other), "second-skill-file")]


@pytest.mark.parametrize("name", [".git", "node_modules", ".venv", "__pycache__"])
def test_folders_of_other_tools_are_skipped(
    write_skill: Callable[..., Path], skills: Path, name: str
) -> None:
    write_skill(f"{name}/a")
    write_skill(".claude/skills/b")
    assert places(skills) == [".claude/skills/b"]


def test_linked_skill_folders_are_followed(
    write_skill: Callable[..., Path], skills: Path, tmp_path: Path
) -> None:
    write_skill("a")
    outside = tmp_path / "elsewhere" / "water"
    outside.mkdir(parents=True)
    (outside / "SKILL.md").write_text("---\nname: water\ndescription: Waters.\n---\nx")
    (skills / "linked").symlink_to(outside)
    assert places(skills) == ["a", "linked"]


def test_a_folder_reached_by_link_and_by_path_counts_once_under_its_path(
    write_skill: Callable[..., Path], skills: Path
) -> None:
    write_skill("real/water")
    (skills / "aaa").symlink_to(skills / "real")
    (skills / "real" / "again").symlink_to(skills / "real" / "water")
    assert places(skills) == ["real/water"]


def test_loops_end(write_skill: Callable[..., Path], skills: Path, tmp_path: Path) -> None:
    write_skill("a/b")
    (skills / "a" / "up").symlink_to(skills)
    (skills / "a" / "b" / "self").symlink_to(skills / "a" / "b")
    (skills / "ping").symlink_to(tmp_path / "pong")
    (tmp_path / "pong").symlink_to(skills / "ping")
    found, problems = discover(str(skills))
    assert ["/".join(item.parts) for item in found] == ["a/b"]
    assert [problem.code for problem in problems] == ["dangling-link"]


def test_a_link_above_the_root_is_not_followed(
    write_skill: Callable[..., Path], skills: Path, tmp_path: Path
) -> None:
    write_skill("a")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "SKILL.md").write_text("x")
    (skills / "up").symlink_to(tmp_path)
    (skills / "slash").symlink_to("/")
    assert places(skills) == ["a"]


def test_an_unreadable_folder_is_a_problem_and_the_rest_is_found(
    write_skill: Callable[..., Path], skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("a")
    write_skill("locked/b")
    real = os.scandir

    def scandir(path: str) -> Any:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found, (problem,) = discover(str(skills))
    assert [item.parts for item in found] == [("a",)]
    assert problem.code == "folder-unreadable"
    assert problem.path == str(skills / "locked")
    assert "Permission denied" in problem.message


def test_order_does_not_depend_on_the_disk(
    write_skill: Callable[..., Path], skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("a/x", "a/y", "b", "c/d/e"):
        write_skill(place)
    (skills / "l1").symlink_to(skills.parent / "other")
    (skills / "l2").symlink_to(skills.parent / "other")
    (skills.parent / "other" / "o").mkdir(parents=True)
    (skills.parent / "other" / "o" / "SKILL.md").write_text("x")
    expected = places(skills)
    assert expected == ["a/x", "a/y", "b", "c/d/e", "l1/o"]
    real = os.scandir

    class Reversed:
        def __init__(self, path: str) -> None:
            with real(path) as entries:
                self.entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self) -> Iterator[Any]:
            return iter(self.entries)

        def __exit__(self, *args: object) -> None:
            pass

    monkeypatch.setattr(os, "scandir", Reversed)
    assert places(skills) == expected


def test_a_path_longer_than_the_system_takes_is_a_problem(tmp_path: Path) -> None:
    root = tmp_path / "deep"
    root.mkdir()
    handle = os.open(root, os.O_RDONLY)
    try:
        for _ in range(20):
            os.mkdir("d" * 250, dir_fd=handle)
            deeper = os.open("d" * 250, os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = deeper
    finally:
        os.close(handle)
    found, problems = discover(str(root))
    assert found == []
    assert [problem.code for problem in problems] == ["folder-unreadable"]
    assert "too long" in problems[0].message


def test_names_that_are_not_text_are_survived(skills: Path) -> None:
    folder = skills / os.fsdecode(b"\xff\n<b>")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this disk takes only UTF-8 names")
    (folder / "SKILL.md").write_text("---\nname: a\ndescription: b c\n---\nx")
    loaded = Roster.from_directory(skills)
    assert loaded.names == ("a",)
    assert loaded["a"].source is not None
    for problem in loaded.problems:
        assert "\n" not in str(problem)


@pytest.mark.slow
def test_a_tree_of_100_000_folders_is_searched_in_seconds() -> None:
    # Not in tmp_path: trees of past runs would be deleted slowly at the start of later ones.
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for top in range(100):
            for middle in range(100):
                for low in range(9):
                    (root / f"t{top}" / f"m{middle}" / f"l{low}").mkdir(parents=True)
        (root / "t50" / "m50" / "l5" / "SKILL.md").write_text("x")
        start = time.perf_counter()
        assert places(root) == ["t50/m50/l5"]
        assert time.perf_counter() - start < 20
