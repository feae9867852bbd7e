"""The index on disk: found by digest, written atomically, rebuilt when damaged."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from roster import Roster
from router.local.encoder import Encoder
from router.local.index import SkillIndex, build_index, text_digest
from router.local.lexical import LexicalIndex
from router.local.vectors import Progress, SkillVectors

FORMAT = 2
"""Raised whenever the meaning of a cached array changes: other formats are not read."""

_KEPT = 16
_LEXICAL = ("word", "char", "front")
_log = logging.getLogger(__name__)


def cache_folder(folder: str | Path | None = None) -> Path:
    """The cache folder: the argument, else `SKILL_ROUTER_CACHE`, else the user's cache folder."""
    if folder is not None:
        return Path(folder).expanduser()
    if os.environ.get("SKILL_ROUTER_CACHE"):
        return Path(os.environ["SKILL_ROUTER_CACHE"]).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("skill-router", appauthor=False))


class IndexCache:
    """Indexes of one encoder in one folder.

    Args:
        folder: See `cache_folder`.
        encoder: Its digest names the subfolder: vectors of two encoders never meet.
    """

    def __init__(self, folder: str | Path | None, encoder: Encoder) -> None:
        self._encoder = encoder
        self._folder = cache_folder(folder) / f"index-{FORMAT}-{encoder.digest[:16]}"

    def path(self, roster: Roster) -> Path:
        """The file of a roster's index.

        Every text that is indexed counts, not the roster's digest alone: a category can come from
        the folder, and a later version may read the same bytes better.
        """
        texts = [[skill.name, text_digest(skill)] for skill in roster]
        key = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
        return self._folder / f"{key[:32]}.npz"

    def load_or_build(self, roster: Roster, progress: Progress | None = None) -> SkillIndex:
        """The roster's index: from its file, else built (and written when the folder allows it).

        Skills whose bytes another index of the folder has seen are not encoded again.

        Args:
            roster: The roster.
            progress: Told how many skills are encoded.

        Returns:
            The index.
        """
        path = self.path(roster)
        index = self._read(path, roster)
        if index is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # what is used is kept when old indexes are cleared away
            return index
        with self._lock():
            index = self._read(path, roster)  # another process may have built it meanwhile
            if index is not None:
                return index
            index = build_index(roster, self._encoder, self._known(roster), progress)
            self._write(path, index)
        return index

    def _lock(self) -> contextlib.AbstractContextManager[object]:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._folder / "build.lock", timeout=120)
            lock.acquire()
        except (OSError, Timeout, NotImplementedError) as error:
            _log.warning("the index cache %s cannot be used: %s", self._folder, error)
            return contextlib.nullcontext()
        return contextlib.closing(_Release(lock))

    def _read(self, path: Path, roster: Roster | None) -> SkillIndex | None:
        try:
            if path.exists() and not path.is_file():
                raise ValueError("it is no regular file")
            if _is_foreign(path):
                raise ValueError("it belongs to another user")
            # Members are read lazily; the zip's checksums catch flipped bytes as they are.
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            index = _from_arrays(arrays)
            _check(index, self._encoder)
        except FileNotFoundError:
            return None
        except Exception as error:  # zip and array readers raise many types on flipped bytes
            _log.warning("%s: the cached index cannot be read (%s); building it anew", path, error)
            return None
        if roster is not None and (
            index.names != tuple(roster.names)
            or index.skill_digests != tuple(text_digest(skill) for skill in roster)
        ):
            _log.warning("%s: the cached index is of another roster; building it anew", path)
            return None
        return index

    def _known(self, roster: Roster) -> dict[tuple[str, str], SkillVectors]:
        """Vectors of this roster's skills in the newest other indexes of the folder."""
        wanted = {(skill.name, text_digest(skill)) for skill in roster}
        found: dict[tuple[str, str], SkillVectors] = {}
        for path in self._newest():
            if len(found) == len(wanted):
                break
            index = self._read(path, None)
            if index is None:
                continue
            for row, key in enumerate(zip(index.names, index.skill_digests, strict=True)):
                if key in wanted:
                    found.setdefault(key, index.vectors(row))
        return found

    def _newest(self) -> list[Path]:
        try:
            files = [(entry.stat().st_mtime, entry) for entry in self._folder.glob("*.npz")]
        except OSError:
            return []
        return [path for _, path in sorted(files, key=lambda item: (-item[0], item[1].name))]

    def _write(self, path: Path, index: SkillIndex) -> None:
        try:
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
        except OSError as error:
            _log.warning("the index is not cached: %s", error)
            return
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **_to_arrays(index))  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except OSError as error:
            _log.warning("%s: the index is not cached: %s", path, error)
            with contextlib.suppress(OSError):
                Path(name).unlink()
            return
        for old in self._newest()[_KEPT:]:
            with contextlib.suppress(OSError):
                old.unlink()


class _Release:
    def __init__(self, lock: FileLock) -> None:
        self._held = lock

    def close(self) -> None:
        self._held.release()


def _is_foreign(path: Path) -> bool:
    """Whether a file is someone else's, who could have put anything into a shared folder."""
    return hasattr(os, "getuid") and path.stat().st_uid not in (os.getuid(), 0)


def _to_arrays(index: SkillIndex) -> dict[str, NDArray]:  # type: ignore[type-arg]
    arrays: dict[str, NDArray] = {  # type: ignore[type-arg]
        "format": np.array([FORMAT]),
        # Text as UTF-8 bytes: an array of unicode pads every name to the longest one.
        "names": np.frombuffer("\n".join(index.names).encode(), dtype=np.uint8),
        "skill_digests": np.frombuffer("\n".join(index.skill_digests).encode(), dtype=np.uint8),
    }
    for field in fields(SkillIndex):
        value = getattr(index, field.name)
        if field.name in _LEXICAL:
            for part in fields(LexicalIndex):
                arrays[f"{field.name}.{part.name}"] = np.asarray(getattr(value, part.name))
        elif field.name not in arrays:
            arrays[field.name] = value
    return arrays


def _from_arrays(arrays: dict[str, NDArray]) -> SkillIndex:  # type: ignore[type-arg]
    if int(arrays["format"][0]) != FORMAT:
        raise ValueError(f"format {int(arrays['format'][0])}, not {FORMAT}")
    values: dict[str, object] = {}
    for field in fields(SkillIndex):
        if field.name in ("names", "skill_digests"):
            text = arrays[field.name].tobytes().decode()
            values[field.name] = tuple(text.split("\n")) if text else ()
        elif field.name in _LEXICAL:
            parts = {p.name: arrays[f"{field.name}.{p.name}"] for p in fields(LexicalIndex)}
            parts["size"] = int(parts["size"])  # type: ignore[assignment]
            values[field.name] = LexicalIndex(**parts)  # type: ignore[arg-type]
        else:
            values[field.name] = arrays[field.name]
    return replace(SkillIndex(**values))  # type: ignore[arg-type]


def _check(index: SkillIndex, encoder: Encoder) -> None:
    """Refuse arrays that do not fit together, whatever their checksums say."""
    n = len(index)
    good = (
        len(index.skill_digests) == n
        and index.documents.shape == index.summaries.shape == (n, encoder.dimension)
        and index.passages.shape[1:] == (encoder.dimension,)
        and index.tokens.shape[1:] == (encoder.token_dimension,)
        and len(index.passage_starts) == len(index.token_starts) == n + 1
        and index.passage_starts[-1] == len(index.passages)
        and index.token_starts[-1] == len(index.tokens)
        and all(getattr(index, name).size == n for name in _LEXICAL)
    )
    if not good:
        raise ValueError("its arrays do not fit together")
    floats = (index.documents, index.summaries, index.passages)
    lists = [getattr(index, name) for name in _LEXICAL]
    if not all(np.isfinite(part).all() for part in (*floats, *(one.weights for one in lists))):
        raise ValueError("it holds numbers that are not finite")
    starts = [index.passage_starts, index.token_starts, *(one.starts for one in lists)]
    rows_fit = all(
        not len(one.rows) or (one.rows.min() >= 0 and one.rows.max() < n) for one in lists
    )
    if not rows_fit or any(len(s) and (s[0] != 0 or (np.diff(s) < 0).any()) for s in starts):
        raise ValueError("its arrays point outside one another")
