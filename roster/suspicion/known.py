"""What earlier inspections found, so that a text that was read once is not read again."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from roster.suspicion.records import Sign

Signs = tuple[Sign, ...]


class Known:
    """Findings by a digest of the texts they are about.

    Args:
        signs: Signs of a skill's own texts, from an earlier inspection under the same rules.
        foreign: Whether two bodies share nearly nothing.

    Attributes:
        signs: Those that this inspection has used, old and new.
        foreign: The same of pairs of bodies.
        fresh: How many of them are new.
    """

    def __init__(
        self,
        signs: Mapping[bytes, Signs] | None = None,
        foreign: Mapping[bytes, bool] | None = None,
    ) -> None:
        self._signs, self._foreign = signs or {}, foreign or {}
        self.signs: dict[bytes, Signs] = {}
        self.foreign: dict[bytes, bool] = {}
        self.fresh = 0

    def signs_of(self, texts: tuple[str, ...], inspect: Callable[[], Signs]) -> Signs:
        """Signs of some texts: known, or from `inspect`."""
        key = text_key(*texts)
        found = self.signs.get(key, self._signs.get(key))
        if found is None:
            found = inspect()
            self.fresh += 1
        self.signs[key] = found
        return found

    def is_foreign(self, pair: tuple[bytes, bytes], compare: Callable[[], bool]) -> bool:
        """Whether two bodies, given by their `text_key`, share nearly nothing."""
        key = hashlib.sha256(b"".join(sorted(pair))).digest()
        found = self.foreign.get(key, self._foreign.get(key))
        if found is None:
            found = compare()
            self.fresh += 1
        self.foreign[key] = found
        return found


def text_key(*texts: str) -> bytes:
    """32 bytes that stand for some texts in their order."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


@cache
def rules_digest() -> str:
    """Digest of the rules: of the source of this package and of the version of Unicode.

    Raises:
        OSError: If the source cannot be read.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    if not files:
        raise FileNotFoundError("the rules of inspection have no source here")
    digest = hashlib.sha256(unicodedata.unidata_version.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
