"""Skills that describe themselves as another one does, and then say something else."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence

from roster.skill import Skill
from roster.suspicion.records import Sign
from roster.suspicion.words import words

_SKETCH = 4
_MOST_IN_BUCKET = 32
_ALIKE = 0.8
_FOREIGN = 0.1
_FEWEST = 8

_Shingles = frozenset[int]


def near_copies(skills: Sequence[Skill], trusted: Collection[str]) -> dict[str, list[Sign]]:
    """Signs of skills whose description is another one's and whose text is not.

    Which of the two came first cannot be told from the texts: both get the sign, unless one of
    them is trusted, and then the other one weighs more. Copies whose text is shared as well (forks,
    versions) get none. Work grows linearly: pairs are found by the smallest shingle hashes
    of the descriptions (Broder 1997).

    Args:
        skills: The skills.
        trusted: Names of skills that are known to be genuine.

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
    pairs = {
        (a, b) for bucket in buckets.values() for i, a in enumerate(bucket) for b in bucket[i + 1 :]
    }
    found: dict[str, list[Sign]] = {}
    for a, b in sorted(pairs):
        if _similar(sketches[a], sketches[b]) and _other_text(skills[a], skills[b]):
            for one, other in ((skills[a], skills[b]), (skills[b], skills[a])):
                if one.name not in trusted and one.name not in found:
                    found[one.name] = [_sign(other, other.name in trusted)]
    return found


def _sign(other: Skill, genuine: bool) -> Sign:
    return Sign(
        code="near-copy",
        points=0.85 if genuine else 0.45,
        reason=f"the description is that of {other.name!r}, the text is not",
    )


def _similar(a: _Shingles, b: _Shingles) -> bool:
    return len(a & b) >= _ALIKE * len(a | b)


def _other_text(a: Skill, b: Skill) -> bool:
    """Whether two bodies share nearly nothing, of either."""
    first, second = _shingles(a.body), _shingles(b.body)
    fewest = min(len(first), len(second))
    return fewest >= _FEWEST and len(first & second) < _FOREIGN * fewest


def _shingles(text: str) -> _Shingles:
    found = words(text)
    return frozenset(zlib.crc32(b" ".join(found[i : i + 3])) for i in range(len(found) - 2))
