"""Find the SKILL.md files of a folder tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roster.problem import Problem
from roster.text import encodable

SKIPPED_FOLDERS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".venv",
        ".tox",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        "__pycache__",
        "node_modules",
    }
)
"""Folders that are never searched."""

MAX_FOLDERS = 1_000_000
"""Folders after which a search gives up, so that no link can send it through a whole disk."""


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A SKILL.md file.

    Attributes:
        parts: Names of the folders from the root to the file's folder; () for the root itself.
        path: The file's path.
    """

    parts: tuple[str, ...]
    path: str


def discover(root: str) -> tuple[list[Found], list[Problem]]:
    """Search a folder tree for files named SKILL.md, in any case.

    Folders are visited without recursion and each at most once, whatever links lead to it, so
    loops end. Real folders are visited before linked ones: a folder that is reached both ways is
    reported under its real path. A link to a folder above the root is not followed.

    Args:
        root: The folder to search.

    Returns:
        The files sorted by the names of their folders, independent of the order on disk, and the
        problems of folders that could not be searched.
    """
    walk = _Walk(root)
    found = sorted(walk.files())
    return found, sorted(walk.problems, key=lambda problem: problem.path)


class _Walk:
    def __init__(self, root: str) -> None:
        self.root = root
        self.problems: list[Problem] = []
        self.seen: set[tuple[int, int]] = set()
        self.above = _ancestors(root)

    def files(self) -> Iterator[Found]:
        folders: list[tuple[str, tuple[str, ...]]] = [(self.root, ())]
        links: list[tuple[str, tuple[str, ...]]] = []
        while folders or links:
            if not folders:
                # The shortest, first link of those pending: the outcome must not depend on the
                # order in which the file system lists them.
                links.sort(key=lambda item: (len(item[1]), item[1]), reverse=True)
                folders.append(links.pop())
            path, parts = folders.pop()
            try:
                if self._is_new(path):
                    yield from self._list(path, parts, folders, links)
            except OSError as error:
                self._report(path, error.strerror or type(error).__name__)
            if len(self.seen) > MAX_FOLDERS:
                self._report(self.root, f"more than {MAX_FOLDERS} folders")
                return

    def _list(
        self,
        path: str,
        parts: tuple[str, ...],
        folders: list[tuple[str, tuple[str, ...]]],
        links: list[tuple[str, tuple[str, ...]]],
    ) -> Iterator[Found]:
        skill_files: list[str] = []
        below: list[tuple[str, tuple[str, ...]]] = []
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED_FOLDERS:
                        below.append((entry.path, (*parts, entry.name)))
                elif entry.name.lower() == "skill.md":
                    skill_files.append(entry.name)
                elif entry.is_symlink() and entry.name not in SKIPPED_FOLDERS:
                    self._link(entry, (*parts, entry.name), links)
        folders.extend(sorted(below, reverse=True))
        if skill_files:
            # On a disk that tells the cases apart, the official spelling sorts first.
            first, *others = sorted(skill_files)
            yield Found(parts, str(Path(path, first)))
            for other in others:
                self.problems.append(
                    Problem(
                        path=encodable(str(Path(path, other))),
                        severity="error",
                        code="second-skill-file",
                        message=f"the folder already has {first}",
                        remedy="keep one of the two files",
                    )
                )

    def _link(
        self,
        entry: os.DirEntry[str],
        parts: tuple[str, ...],
        links: list[tuple[str, tuple[str, ...]]],
    ) -> None:
        try:
            if stat.S_ISDIR(entry.stat().st_mode):
                links.append((entry.path, parts))
        except OSError:
            # Editors leave hidden dangling links as locks.
            if not entry.name.startswith("."):
                self.problems.append(
                    Problem(
                        path=encodable(entry.path),
                        severity="warning",
                        code="dangling-link",
                        message="the symbolic link leads nowhere",
                        remedy="mend or delete the link",
                    )
                )

    def _is_new(self, path: str) -> bool:
        status = Path(path).stat()
        key = (status.st_dev, status.st_ino)
        if key in self.seen or key in self.above:
            return False
        self.seen.add(key)
        return True

    def _report(self, path: str, reason: str) -> None:
        self.problems.append(
            Problem(
                path=encodable(path),
                severity="error",
                code="folder-unreadable",
                message=f"the folder cannot be searched ({reason})",
                remedy="make it readable, or move it out of the roster",
            )
        )


def _ancestors(root: str) -> set[tuple[int, int]]:
    above: set[tuple[int, int]] = set()
    for folder in Path(os.path.realpath(root)).parents:
        try:
            status = folder.stat()
        except OSError:
            continue
        above.add((status.st_dev, status.st_ino))
    return above
