"""Indexes of large rosters on disk: found by content, grown by segments, swapped atomically.

A *pool* is a small file that lists segments and which of their rows no longer count. Its name is a
digest of what it holds, so two processes that want the same roster find the same file; it appears
when everything it lists is complete. Readers take no lock and keep what they have mapped, whatever
happens to the files: a rebuild never blocks them and never changes what they see.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from roster import Skill
from router.errors import RouterError
from router.index.build import merged_segment, new_segment
from router.index.bulk import Pace, embed_missing
from router.index.embeddings import EmbeddingStore
from router.index.lexical import MOST_ROWS
from router.index.segment import STEM, Segment
from router.index.texts import skill_texts
from router.local.encoder import Encoder

FORMAT = 2
"""Raised whenever the meaning of an array changes: other formats are not read."""

MOST_SEGMENTS = 8
"""Segments after which they are merged."""

MOST_CHURN = 0.25
"""Share of rows outside the first segment, or dropped, after which segments are merged."""

_KEPT_POOLS = 8
_GRACE_S = 3_600.0
_LEAST_SHARED = 0.5
_log = logging.getLogger(__name__)

Report = Callable[[Pace], None]


@dataclass(frozen=True)
class Part:
    """A segment of a pool and the rows of it that no longer count, ascending."""

    segment: Segment
    dropped: NDArray[np.int64]

    def live(self) -> NDArray[np.int64]:
        """The rows that count."""
        kept = np.ones(len(self.segment), np.bool_)
        kept[self.dropped] = False
        return np.flatnonzero(kept)

    def row_of(self) -> dict[bytes, int]:
        """Row of each key that counts."""
        keys = self.segment.key_list
        return {keys[row]: row for row in self.live().tolist()}


class PoolFolder:
    """The pools of one encoder in one folder.

    Args:
        folder: The cache folder.
        encoder: Its digest names the subfolder. It embeds in this process, what it lacks then;
            `router.index.load.embed_roster` embeds ahead, with workers.
    """

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self._root, self._encoder = folder, encoder
        self.folder = folder / f"pools-{FORMAT}-{encoder.digest[:16]}"

    def path(self, keys: Iterable[bytes]) -> Path:
        """The file of a pool that holds these keys."""
        digest = hashlib.sha256(b"".join(sorted(keys))).hexdigest()
        return self.folder / f"pool-{digest[:32]}.json"

    def open_or_build(self, skills: dict[bytes, Skill], report: Report | None = None) -> list[Part]:
        """The parts that hold exactly these skills.

        What another pool of the folder holds is taken over; the work is for what is new.

        Args:
            skills: Skill of each key.
            report: Told how many texts are embedded.

        Raises:
            RouterError: If the folder cannot be written, or there are too many skills.
        """
        if len(skills) > MOST_ROWS:
            raise RouterError(f"an index holds at most {MOST_ROWS:,} skills, not {len(skills):,}")
        path = self.path(skills)
        parts = self._read(path)
        if parts is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # what is used is kept when old pools are cleared away
            return parts
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / "build.lock"):
                parts = self._read(path)  # another process may have built it meanwhile
                if parts is None:
                    parts = self._grow(skills, report)
                    self._write(path, parts)
                    self._clear()
                return parts
        except OSError as error:
            raise RouterError(
                f"{self.folder}: the index of {len(skills):,} skills cannot be written "
                f"({error.strerror or error}); set SKILL_ROUTER_CACHE to a folder with room"
            ) from error

    def _grow(self, skills: dict[bytes, Skill], report: Report | None) -> list[Part]:
        parts = self._nearest(skills)
        held = {key for part in parts for key in part.row_of()}
        new = [(key, skill) for key, skill in skills.items() if key not in held]
        parts = [_without(part, skills) for part in parts]
        if new or not parts:
            store = EmbeddingStore(self._root, self._encoder)
            keyed = [item for _, skill in new for item in skill_texts(skill).keyed()]
            embed_missing(store, keyed, self._encoder, 1, report)
            beside = [part.segment for part in parts]
            path = new_segment(self.folder, new, store, beside)
            parts.append(Part(self._open(path, verify=False), np.zeros(0, np.int64)))
        if _churned(parts):
            kept = [(part.segment, part.live()) for part in parts]
            path = merged_segment(self.folder, kept)
            parts = [Part(self._open(path, verify=False), np.zeros(0, np.int64))]
        return parts

    def _nearest(self, skills: dict[bytes, Skill]) -> list[Part]:
        """The parts of the newest pool that shares enough with the wanted one; [] if none does."""
        for path in self._newest()[:3]:
            parts = self._read(path)
            if parts is None:
                continue
            held = [key for part in parts for key in part.row_of()]
            shared = sum(key in skills for key in held)
            if shared >= _LEAST_SHARED * max(len(skills), len(held), 1):
                return parts
        return []

    def _open(self, path: Path, verify: bool = True) -> Segment:
        e = self._encoder
        return Segment.open(path, e.dimension, e.token_dimension, verify)

    def _read(self, path: Path) -> list[Part] | None:
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored["format"] != FORMAT:
                raise ValueError(f"format {stored['format']!r}, not {FORMAT}")
            parts = []
            for entry in stored["segments"]:
                name = str(entry["file"])
                if Path(name).name != name:
                    raise ValueError(f"{name[:80]!r} is no file of this folder")
                segment = self._open(self.folder / name)
                dropped = np.array(entry["dropped"], np.int64)
                if len(dropped) and not 0 <= dropped.min() <= dropped.max() < len(segment):
                    raise ValueError("it drops rows that are not there")
                parts.append(Part(segment, dropped))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            _log.warning("%s: the index cannot be read (%s); building it anew", path, error)
            return None
        keys = [key for part in parts for key in part.row_of()]
        if self.path(keys) != path:
            _log.warning("%s: the index holds other skills; building it anew", path)
            return None
        return parts

    def _newest(self) -> list[Path]:
        try:
            files = [(entry.stat().st_mtime, entry) for entry in self.folder.glob("pool-*.json")]
        except OSError:
            return []
        return [path for _, path in sorted(files, key=lambda item: (-item[0], item[1].name))]

    def _write(self, path: Path, parts: list[Part]) -> None:
        entries = [
            {"file": part.segment.path.name, "dropped": part.dropped.tolist()} for part in parts
        ]
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"format": FORMAT, "segments": entries}, file)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise

    def _clear(self) -> None:
        """Remove old pools, and segments that no pool lists; who has one mapped keeps it."""
        pools = self._newest()
        used: set[str] = set()
        for path in pools[:_KEPT_POOLS]:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                stored = json.loads(path.read_text(encoding="utf-8"))
                used |= {str(entry["file"]) for entry in stored["segments"]}
        for path in pools[_KEPT_POOLS:]:
            with contextlib.suppress(OSError):
                path.unlink()
        # A reader opens a segment soon after it read the pool that lists it.
        before = time.time() - _GRACE_S
        for path in [*self.folder.glob(f"{STEM}-*"), *self.folder.glob("*.tmp")]:
            with contextlib.suppress(OSError):
                if path.name not in used and path.stat().st_mtime < before:
                    path.unlink()


def _without(part: Part, skills: dict[bytes, Skill]) -> Part:
    dropped = [row for key, row in part.row_of().items() if key not in skills]
    return Part(part.segment, np.sort(np.append(part.dropped, dropped)).astype(np.int64))


def _churned(parts: list[Part]) -> bool:
    if len(parts) > MOST_SEGMENTS:
        return True
    total = sum(len(part.segment) for part in parts)
    later = total - len(parts[0].segment)
    dropped = sum(len(part.dropped) for part in parts)
    return later + dropped > MOST_CHURN * max(total, 1)
