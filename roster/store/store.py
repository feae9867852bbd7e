"""The store: immutable versions of skills (and of other records), with every decision on them."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from roster.problem import Problem
from roster.store.check import check_store
from roster.store.connection import Database
from roster.store.errors import StoreError, UnknownVersionError
from roster.store.records import SkillVersion, Snapshot, Versioned
from roster.store.records import sha256 as digest_of
from roster.store.shelf import Shelf, take_snapshot
from roster.store.transfer import export_store, import_store

Record = TypeVar("Record", bound=Versioned)


class Store:
    """A store in one SQLite file; use it as a context manager, or close it.

    Args:
        path: The file; ``~`` is expanded.
        create: Whether a missing file is made.

    Raises:
        StoreError: If it cannot be opened, is damaged, or was written by a newer version.
    """

    def __init__(self, path: str | os.PathLike[str], create: bool = True) -> None:
        self._database = Database(path, create)

    @property
    def path(self) -> str:
        """The file."""
        return self._database.path

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written, as on a read-only disk."""
        return self._database.read_only

    @property
    def skills(self) -> Shelf[SkillVersion]:
        """The versions of skills."""
        return self.shelf(SkillVersion)

    def shelf(self, model: type[Record]) -> Shelf[Record]:
        """The versions of one kind of record."""
        return Shelf(self._database, model)

    def snapshot(self) -> Snapshot:
        """Everything that is active now, with one digest over it."""
        return take_snapshot(self._database)

    def file(self, sha256: str) -> bytes:
        """The bytes of a file that a version lists.

        Raises:
            UnknownVersionError: If no version lists such a file.
        """
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT data FROM files WHERE sha256 = ?", (sha256,)
            ).fetchone()
        if row is None:
            raise UnknownVersionError(f"{self.path}: holds no file with the sha256 {sha256[:64]}")
        data = row["data"]
        if not isinstance(data, bytes) or digest_of(data) != sha256:
            raise StoreError(
                f"{self.path}: the file {sha256[:12]} was changed in the store; run skill-router "
                "skills check, and restore a copy"
            )
        return data

    def check(self) -> list[Problem]:
        """Prove that the store is whole; see `roster.store.check.check_store`."""
        return check_store(self._database)

    def export(self, path: str | Path) -> int:
        """Write everything to one file; see `roster.store.transfer.export_store`."""
        return export_store(self._database, Path(path).expanduser())

    def import_(self, path: str | Path) -> int:
        """Take in an export; see `roster.store.transfer.import_store`."""
        return import_store(self._database, Path(path).expanduser())

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._database.close()

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
