"""A roster's place on disk: how it is read, and how a change of it is noticed."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from roster import Roster, RosterNotFoundError
from roster.discover import discover
from roster.layers import Layer, layered
from router.service.problems import Refusal

# What an edit does to a skill when it goes wrong: these are read as well as can be on a first
# load, but do not replace a version that was in order.
_BROKEN = frozenset(
    {
        "yaml-rejected",
        "yaml-too-deep",
        "frontmatter-unclosed",
        "frontmatter-unopened",
        "frontmatter-empty",
        "no-frontmatter",
        "name-missing",
        "description-missing",
        "description-unknown",
        "not-utf-8",
    }
)


@dataclass(frozen=True)
class Source:
    """Folders of skills, the nearest first, or one file.

    Attributes:
        layers: Real paths, and what the names of their skills begin with.
    """

    layers: tuple[Layer, ...]

    @property
    def paths(self) -> list[str]:
        """The real paths."""
        return [layer.path for layer in self.layers]

    def load(self) -> Roster:
        """The roster: of two skills of one name, that of the first folder counts.

        Raises:
            RosterError: If a path is not there, or a file is no roster.
        """
        return layered(self.layers)

    def fingerprint(self) -> str:
        """A digest of names, sizes and times of all skill files; changes whenever one is edited."""
        state = hashlib.blake2b(digest_size=16)
        for path in self.paths:
            if not Path(path).is_dir():
                state.update(_stamp(path))
                continue
            found, problems = discover(path)
            for item in found:
                state.update(_stamp(item.path))
            state.update(f"{len(found)} {problems}".encode("utf-8", "surrogatepass"))
        return state.hexdigest()

    def changed_within(self, seconds: float) -> bool:
        """Whether a skill file was written in the last so many seconds."""
        since = time.time() - seconds
        for path in self.paths:
            files = [item.path for item in discover(path)[0]] if Path(path).is_dir() else [path]
            for file in files:
                try:
                    if Path(file).stat().st_mtime > since:
                        return True
                except (OSError, ValueError):
                    continue
        return False


def _stamp(path: str) -> bytes:
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        return f"{path}\0{type(error).__name__}\0".encode("utf-8", "surrogatepass")
    parts = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return f"{path}\0{parts}\0".encode("utf-8", "surrogatepass")


def broken_edit(old: Roster, new: Roster) -> str | None:
    """What is wrong with a new version of a roster, if it must not replace the old one.

    Args:
        old: The roster that is in use.
        new: What was read after a change on disk.

    Returns:
        One sentence that names the file, or None when all is well. A skill that was deleted is no
        fault; one that was in order and no longer can be read as it should is.
    """
    in_order = {skill.source for skill in old if skill.source}
    known = {(problem.path, problem.code) for problem in old.problems}
    for problem in new.problems:
        if problem.path in in_order and (problem.path, problem.code) not in known:
            if problem.is_error or problem.code in _BROKEN:
                return str(problem)
        elif problem.code == "folder-unreadable" and (problem.path, problem.code) not in known:
            return str(problem)
    if len(old) and not len(new):
        return "no skill is left in the folder; put one back, or restart the service"
    return None


def checked_source(layers: Sequence[Layer], roots: Iterable[Path] | None) -> Source:
    """The source of the folders that a client names.

    Args:
        layers: Folders from a request.
        roots: Folders below which they must lie, links resolved; None allows every folder.

    Returns:
        The source; a folder that is named twice counts once.

    Raises:
        Refusal: If a path is not absolute, climbs with ``..``, is no folder, or lies outside.
    """
    allowed = None if roots is None else [os.path.realpath(root) for root in roots]
    found: dict[Layer, None] = {}
    for folder, prefix in layers:
        shown = repr(folder[:200])
        if "\0" in folder or not Path(folder).is_absolute():
            raise Refusal(422, f"roster: {shown} is not an absolute path; send one")
        if ".." in Path(folder).parts:
            raise Refusal(422, f"roster: {shown} climbs with '..'; send the plain path")
        try:
            real = os.path.realpath(folder)
            is_folder = Path(real).is_dir()
        except (OSError, ValueError):
            is_folder = False
        # The same answer whether it is there or not: outside, nobody learns what exists.
        if allowed is not None and not any(is_below(real, root) for root in allowed):
            raise Refusal(
                403,
                f"roster: {shown} lies outside the folders this service may read; start it with "
                "--allow-roster FOLDER",
            )
        if not is_folder:
            raise Refusal(404, f"roster: {shown} is no folder")
        found[Layer(real, prefix)] = None
    return Source(tuple(found))


def is_below(path: str, root: str) -> bool:
    """Whether a real path is a real folder, or lies in it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def default_source(path: str | None) -> Source:
    """The source of ``--roster``, or of the bundled roster.

    Raises:
        RosterNotFoundError: If nothing is there.
    """
    if path is None:
        import roster

        return Source((Layer(str(Path(roster.__file__).parent / "bundled")),))
    real = os.path.realpath(Path(path).expanduser())
    if not Path(real).exists():
        raise RosterNotFoundError(f"{path} does not exist; check the path of the roster")
    return Source((Layer(real),))
