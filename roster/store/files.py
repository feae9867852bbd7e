"""Which files of a skill folder are part of a version: those its text leads to."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from roster.discover import SKIPPED_FOLDERS
from roster.problem import Problem
from roster.reading import DEFAULT_MAX_BYTES, read_bytes
from roster.store.errors import StageRefusedError
from roster.store.records import ListedFile, sha256
from roster.text import encodable, visible

MAX_FILES = 256
"""Most files of a version."""

MAX_TOTAL_BYTES = 8 << 20
"""Most bytes of all files of a version together."""

_MAX_SEEN = 20_000
_LINK = re.compile(r"\]\(\s*<?([^)\s>#?]{1,300})")
_TEXT_SUFFIXES = (".md", ".markdown", ".txt", ".rst")


@dataclass
class Collected:
    """The files of a folder.

    Attributes:
        listed: Those that count, by path.
        data: Their bytes by SHA-256.
        unlisted: The others.
        missing: Linked to and not there.
    """

    listed: tuple[ListedFile, ...] = ()
    data: dict[str, bytes] = field(default_factory=dict)
    unlisted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def collect_files(folder: Path, skill_file: str, text: str) -> Collected:
    """Find the files that the skill's text names, and those that the named texts name.

    A file counts when its path occurs in SKILL.md, or in a listed Markdown or text file, written
    from the skill's folder or from the folder of the file that names it.

    Args:
        folder: The skill's folder.
        skill_file: Name of its SKILL.md.
        text: Its text.

    Raises:
        StageRefusedError: If a file that counts is a link or no regular file, or the files are
            too many or too large.
    """
    present = sorted(path for path in _walk(folder) if path != skill_file)
    listed: dict[str, ListedFile] = {}
    result = Collected()
    missing: set[str] = set()
    total = 0
    pending = [("", text)]
    while pending:
        base, content = pending.pop()
        missing.update(_dead_links(folder, base, content))
        for path in _named(content, base, [p for p in present if p not in listed]):
            data = _read(folder, path)
            total += len(data)
            if len(listed) == MAX_FILES or total > MAX_TOTAL_BYTES:
                raise StageRefusedError(
                    f"{folder}: the files of the skill are more than {MAX_FILES}, or larger than "
                    f"{MAX_TOTAL_BYTES >> 20} MiB together; leave material out, or split the skill"
                )
            listed[path] = ListedFile(path=path, sha256=sha256(data), size=len(data))
            result.data[listed[path].sha256] = data
            if path.lower().endswith(_TEXT_SUFFIXES):
                pending.append((posixpath.dirname(path), data.decode("utf-8", "replace")))
    result.listed = tuple(listed[path] for path in sorted(listed))
    result.unlisted = tuple(path for path in present if path not in listed)
    result.missing = tuple(sorted(missing))
    return result


def _walk(folder: Path) -> Iterator[str]:
    """Paths of everything below a folder that is no folder; links to folders are not entered."""
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in [*names, *(n for n in folders if Path(place, n).is_symlink())]:
            seen += 1
            if seen > _MAX_SEEN:
                raise StageRefusedError(
                    f"{folder}: holds more than {_MAX_SEEN} files; give the folder of one skill"
                )
            yield Path(place, name).relative_to(folder).as_posix()


def _named(content: str, base: str, paths: list[str]) -> list[str]:
    """Those of the paths that occur in a text."""
    found = []
    for path in paths:
        forms = {path}
        if base and path.startswith(f"{base}/"):
            forms.add(path[len(base) + 1 :])
        if any(
            form in content
            and re.search(rf"(?<![\w.-]){re.escape(form)}(?![\w-]|\.\w|/)", content) is not None
            for form in forms
        ):
            found.append(path)
    return found


def _read(folder: Path, path: str) -> bytes:
    place = folder / path
    status = place.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise StageRefusedError(
            f"{visible(str(place))}: is a symbolic link, and a version is made of files; put the "
            "file itself there"
        )
    if path != encodable(path):
        raise StageRefusedError(f"{visible(str(place))}: its name is not UTF-8; rename the file")
    data = read_bytes(str(place), DEFAULT_MAX_BYTES)
    if isinstance(data, Problem):
        raise StageRefusedError(str(data))
    return data


def _dead_links(folder: Path, base: str, content: str) -> Iterator[str]:
    for target in _LINK.findall(content):
        if re.match(r"[a-z][a-z0-9+.-]*:|/|mailto", target, re.IGNORECASE) or "." not in target:
            continue
        path = posixpath.normpath(posixpath.join(base, target))
        try:
            if not os.path.lexists(folder / path) and not os.path.lexists(folder / target):
                yield path
        except ValueError:
            continue
