"""Skills that describe themselves as another one does, and then say something else."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from functools import lru_cache

from roster.skill import Skill
from roster.suspicion.known import Known, text_key
from roster.suspicion.records import Sign
from roster.suspicion.words import words

_SKETCH = 4
_MOST_IN_BUCKET = 32
_ALIKE = 0.8
_FOREIGN = 0.1
_FEWEST = 8
_AT_HAND = 2 * _MOST_IN_BUCKET

_Shingles = frozenset[int]


def near_copies(
    skills: Sequence[Skill], trusted: Collection[str], known: Known | None = None
) -> dict[str, list[Sign]]:
    """Signs of skills whose description is another one's and whose text is not.

    Which of the two came first cannot be told from the texts: both get the sign, unless one of
    them is trusted, and then the other one weighs more. Copies whose text is shared as well (forks,
    versions) get none. Work grows linearly: pairs are found by the smallest shingle hashes
    of the descriptions (Broder 1997).

    Args:
        skills: The skills.
        trusted: Names of skills that are known to be genuine.
        known: What earlier inspections found; it takes in what this one does.

    Returns:
        Signs by name.
    """
    buckets: dict[int, list[int]] = {}
    sketches: list[_Shingles] = []
    for row, skill in enumerate(skills):
        shingles = _shingles(skill.description)
        sketches.append(shingles)
        if len(shingles) >= _FEWEST:
            for key in sorted(shingles)[:_SKETCH]:
                bucket = buckets.setdefault(key, [])
                if len(bucket) < _MOST_IN_BUCKET:
                    bucket.append(row)
    # In the order of the buckets: the bodies of one bucket are compared one after another.
    pairs = dict.fromkeys(
        (a, b) for bucket in buckets.values() for i, a in enumerate(bucket) for b in bucket[i + 1 :]
    )
    bodies = _Bodies(skills, known or Known())
    alike = [
        (a, b) for a, b in pairs if _similar(sketches[a], sketches[b]) and bodies.foreign(a, b)
    ]
    found: dict[str, list[Sign]] = {}
    for a, b in sorted(alike):
        for one, other in ((skills[a], skills[b]), (skills[b], skills[a])):
            if one.name not in trusted and one.name not in found:
                found[one.name] = [_sign(other, other.name in trusted)]
    return found


class _Bodies:
    """Compares bodies; those it has just read are at hand."""

    def __init__(self, skills: Sequence[Skill], known: Known) -> None:
        self._skills, self._known = skills, known
        self._read = lru_cache(_AT_HAND)(lambda row: _shingles(skills[row].body))
        self._key = lru_cache(_AT_HAND)(lambda row: text_key(skills[row].body))

    def foreign(self, a: int, b: int) -> bool:
        """Whether two bodies share nearly nothing, of either."""
        if self._skills[a].body == self._skills[b].body:
            return False
        pair = (self._key(a), self._key(b))
        return self._known.is_foreign(pair, lambda: _foreign(self._read(a), self._read(b)))


def _sign(other: Skill, genuine: bool) -> Sign:
    return Sign(
        code="near-copy",
        points=0.85 if genuine else 0.45,
        reason=f"the description is that of {other.name!r}, the text is not",
    )


def _similar(a: _Shingles, b: _Shingles) -> bool:
    return len(a & b) >= _ALIKE * len(a | b)


def _foreign(first: _Shingles, second: _Shingles) -> bool:
    fewest = min(len(first), len(second))
    return fewest >= _FEWEST and len(first & second) < _FOREIGN * fewest


def _shingles(text: str) -> _Shingles:
    found = words(text)
    return frozenset(zlib.crc32(b" ".join(found[i : i + 3])) for i in range(len(found) - 2))
