"""What inspections of large rosters found, kept beside the index and signed.

Inspecting 60,000 skills takes a minute. What was found of a text is kept by its digest, so that the
next load reads nothing twice. A file that says "nothing suspicious here" must not come from someone
else: it carries a message authentication code (HMAC, RFC 2104), whose key lies outside the cache
folder, in the user's data folder. A file that was changed, copied from another machine or written
under other rules counts for nothing, and the skills are inspected anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Any

from roster import Roster
from roster.reading import read_bytes
from roster.suspicion import Defended, Quarantine, Sign
from roster.suspicion.known import Known, rules_digest
from router.index.look import LARGE
from router.local.cache import cache_folder

FORMAT = 1
"""Raised whenever the meaning of the file changes: other formats are not read."""

MOST_BYTES = 1 << 26
MOST_KEPT = 200_000
"""Texts, and pairs of texts, that are kept; those of the latest roster first."""

_KEY_BYTES = 32
_MAC_DIGITS = 64
_log = logging.getLogger(__name__)


def defended(roster: Roster, quarantine: Quarantine, cache: str | Path | None = None) -> Defended:
    """A roster after a quarantine; of a large one, no text is inspected twice.

    Args:
        roster: The roster.
        quarantine: The quarantine.
        cache: The cache folder; see `router.local.cache.cache_folder`.
    """
    if len(roster) <= LARGE or quarantine.level is None:
        return quarantine.apply(roster)
    file = InspectionFile(cache_folder(cache))
    known = file.read()
    found = quarantine.apply(roster, known)
    file.write(known)
    return found


def key_path() -> Path:
    """Where the key lies: ``inspections.key`` in the user's data folder."""
    import platformdirs

    return Path(platformdirs.user_data_dir("skill-router", appauthor=False)) / "inspections.key"


class InspectionFile:
    """The findings in one cache folder.

    Args:
        folder: The cache folder.
        key: The file of the key; it is made when it is missing.
    """

    def __init__(self, folder: Path, key: Path | None = None) -> None:
        self.path = folder / f"inspections-{FORMAT}.json"
        self._key_file = key or key_path()
        self._kept: dict[str, dict[str, Any]] = {"signs": {}, "foreign": {}}

    def read(self) -> Known:
        """What the file holds; nothing when it is missing, damaged or not signed with the key."""
        if not os.path.lexists(self.path):
            return Known()
        try:
            key = self._key()
            data = read_bytes(str(self.path), MOST_BYTES)
            if not isinstance(data, bytes):
                raise ValueError(data.message)
            mac, text = data[:_MAC_DIGITS], data[_MAC_DIGITS:]
            if not hmac.compare_digest(mac, _mac(key, text)):
                raise ValueError("it is not signed with this user's key")
            stored = json.loads(text)
            if stored["rules"] != rules_digest():
                return Known()  # a later version has other rules
            signs = {
                bytes.fromhex(key): tuple(Sign.model_validate(sign) for sign in many)
                for key, many in stored["signs"].items()
            }
            foreign = {bytes.fromhex(key): bool(one) for key, one in stored["foreign"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            _log.warning(
                "%s: findings of earlier inspections cannot be used (%s); inspecting anew",
                self.path,
                str(error)[:200],
            )
            return Known()
        self._kept = {"signs": stored["signs"], "foreign": stored["foreign"]}
        return Known(signs, foreign)

    def write(self, known: Known) -> None:
        """Keep what an inspection has found, when some of it is new and the folder allows it."""
        if not known.fresh:
            return
        signs = {key.hex(): [one.model_dump() for one in many] for key, many in known.signs.items()}
        foreign = {key.hex(): int(one) for key, one in known.foreign.items()}
        try:
            stored = {
                "rules": rules_digest(),
                "signs": _bounded(signs, self._kept["signs"]),
                "foreign": _bounded(foreign, self._kept["foreign"]),
            }
            text = json.dumps(stored, separators=(",", ":")).encode()
            if len(text) + _MAC_DIGITS > MOST_BYTES:
                raise ValueError("they are too many")
            self._replace(_mac(self._key(), text) + text)
        except (OSError, ValueError) as error:
            _log.warning("%s: what was inspected is not kept: %s", self.path, error)

    def _replace(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise

    def _key(self) -> bytes:
        """The key, made when there is none.

        Raises:
            OSError: If it can be neither read nor made.
            ValueError: If the file is not a key that its owner alone can read and write.
        """
        if not os.path.lexists(self._key_file):
            self._make_key()
        found = self._key_file.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size != _KEY_BYTES:
            raise ValueError(f"{self._key_file} is no key; remove it")
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            raise ValueError(f"{self._key_file} is not yours alone; remove it")
        return self._key_file.read_bytes()

    def _make_key(self) -> None:
        self._key_file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._key_file.parent)  # readable by its owner alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            # The first of several processes wins; the others take its key.
            with contextlib.suppress(FileExistsError):
                os.link(name, self._key_file)
        finally:
            Path(name).unlink()


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).hexdigest().encode()


def _bounded(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The new entries, then as many old ones as there is room for."""
    found = dict(list(new.items())[:MOST_KEPT])
    for key, value in old.items():
        if len(found) >= MOST_KEPT:
            break
        found.setdefault(key, value)
    return found
