"""Skill folders that change all the time, and every roster that they ever were."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections import Counter
from pathlib import Path

from roster import Roster
from roster.layers import layered
from roster.loading import skill_from_bytes

_TASKS = (
    "mend kites",
    "bake bread",
    "file taxes",
    "oil bikes",
    "prune roses",
    "tune pianos",
    "glaze pots",
    "fold maps",
    "brew tea",
    "wax skis",
    "sharpen knives",
    "dye wool",
)
_GAP_S = 0.05
_LONG_S = 0.2


class ChangingSkills:
    """A folder of skills, and changes to it one after the other.

    Every change ends in a state on disk that is whole, or has one file that cannot be read and is
    mended by the next change. The rosters of all of these states are kept: an answer from any
    other one is from half a roster.

    Args:
        folder: An empty folder.
        seed: Chooses the changes.

    Attributes:
        known: Digest of every roster the folder ever was, and its names.
        changes: How many changes there were, by kind.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.known: dict[str, frozenset[str]] = {}
        self.changes: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._numbers = 0
        self._broken: str | None = None
        for task in _TASKS:
            self._write(task.replace(" ", "-"), task)
        self._note()

    def change(self) -> None:
        """Change one thing, or mend what the last change broke."""
        names = sorted(path.name for path in self.folder.iterdir())
        if self._broken is not None:
            self._mend(self._broken)
            self._broken = None
            self._note()
            return
        kind = self._random.choice(
            ("edit", "edit", "add", "remove", "slowly", "mode", "folder", "pipe", "link", "bytes")
        )
        name = self._random.choice(names)
        self.changes[kind] += 1
        if kind == "add" or (kind == "remove" and len(names) < 6):
            self._numbers += 1
            self._write(f"new-{self._numbers}", self._random.choice(_TASKS))
        elif kind == "remove":
            # A folder is taken away in one step, as a checkout does.
            gone = self.folder.with_name(f".gone-{self.changes['remove']}")
            (self.folder / name).rename(gone)
            shutil.rmtree(gone)
        elif kind == "edit":
            self._write(name, self._random.choice(_TASKS))
        elif kind == "slowly":
            self._write_slowly(name, self._random.choice(_TASKS))
        else:
            self._break(kind, name)
        self._note()

    def settle(self) -> str:
        """Mend everything; the digest of the roster on disk."""
        if self._broken is not None:
            self.change()
        return layered([str(self.folder)]).digest

    def _file(self, name: str) -> Path:
        return self.folder / name / "SKILL.md"

    def _text(self, name: str, task: str) -> str:
        version = self._random.randrange(10**9)
        return (
            f"---\nname: {name}\ndescription: How to {task}, edition {version}.\n---\n# {name}\n\n"
            + f"To {task}, begin at the beginning and go on to the end.\n" * 20
        )

    def _write(self, name: str, task: str) -> None:
        file = self._file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name("draft")
        draft.write_text(self._text(name, task), encoding="utf-8")
        draft.replace(file)

    def _write_slowly(self, name: str, task: str) -> None:
        """In place, in two halves: between them the file is half a skill."""
        data = self._text(name, task).encode()
        half = data[: len(data) // 2]
        began = time.monotonic()
        with self._file(name).open("wb", buffering=0) as file:
            file.write(half)
            time.sleep(_GAP_S)
            file.write(data[len(data) // 2 :])
        if time.monotonic() - began > _LONG_S:
            # On a busy machine the pause was one that nobody can tell from an end.
            self.changes["slowly, with a long pause"] += 1
            self._note_half(name, half)

    def _note_half(self, name: str, half: bytes) -> None:
        whole = layered([str(self.folder)])
        skill, _ = skill_from_bytes(half, str(self._file(name)), name)
        for roster in (
            Roster(skill if one.name == name and skill else one for one in whole),
            Roster(one for one in whole if one.name != name),
        ):
            with self._lock:
                self.known[roster.digest] = frozenset(roster.names)

    def _break(self, kind: str, name: str) -> None:
        file = self._file(name)
        self._broken = name
        if kind == "mode":
            file.chmod(0)
        elif kind == "folder":
            file.parent.chmod(0)
        elif kind == "bytes":
            file.write_bytes(os.urandom(200))
        else:
            file.unlink()
            if kind == "pipe":
                os.mkfifo(file)
            else:
                file.symlink_to("nowhere")

    def _mend(self, name: str) -> None:
        self.changes["mended"] += 1
        self._file(name).parent.chmod(0o755)
        self._file(name).unlink(missing_ok=True)
        # Between these two steps the skill is away, and that is a roster too.
        self._note()
        self._write(name, self._random.choice(_TASKS))

    def _note(self) -> None:
        whole = layered([str(self.folder)])
        without = Roster(skill for skill in whole if skill.name != self._broken)
        with self._lock:
            for roster in (whole, without):
                self.known[roster.digest] = frozenset(roster.names)
