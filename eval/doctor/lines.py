"""Index lines that cannot be told from a neighbour's, and the width at which they can."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.doctor.records import RULES, Finding
from eval.doctor.wording import content_words, listed, nameable, telling_words
from roster import Roster, Skill
from roster.prompt import index_description
from router.local.text import spoken

_LONG = 1 << 30


@dataclass(frozen=True)
class _Line:
    """Words of one index line, each with the narrowest width that shows it.

    Attributes:
        name: Content words of the name.
        shown: Content words of the description to the least width in characters.
    """

    name: frozenset[str]
    shown: dict[str, int]

    def at(self, width: int) -> set[str]:
        return {word for word, least in self.shown.items() if least <= width}


def indistinct_lines(roster: Roster, width: int, summaries: NDArray[np.float32]) -> list[Finding]:
    """Skills whose shown description has no content word that a neighbour's line lacks.

    Args:
        roster: The skills.
        width: Characters of a description in the index.
        summaries: Unit vectors of name and description, shape (n, d): which neighbour is named.

    Returns:
        A finding for each such skill, with the neighbour that is most like it.
    """
    skills = list(roster)
    lines = [_line(skill) for skill in skills]
    holders: defaultdict[str, set[int]] = defaultdict(set)
    for row, line in enumerate(lines):
        for word in line.at(width) | line.name:
            holders[word].add(row)
    spread = Counter(word for line in lines for word in line.shown)
    findings = []
    for row, line in enumerate(lines):
        shown = line.at(width)
        if len(shown) < 2:
            continue
        same = set.intersection(*(holders[word] for word in shown)) - {row}
        if not same:
            continue
        rows = sorted(same)
        other = rows[int(np.argmax(summaries[rows] @ summaries[row]))]
        likeness = float(summaries[other] @ summaries[row])
        findings.append(_finding(skills, lines, row, other, width, likeness, spread))
    return findings


def _finding(
    skills: Sequence[Skill],
    lines: Sequence[_Line],
    row: int,
    other: int,
    width: int,
    likeness: float,
    spread: Counter[str],
) -> Finding:
    skill, neighbour, line, theirs = skills[row], skills[other], lines[row], lines[other]
    told_at = next(
        (
            least
            for word, least in sorted(line.shown.items(), key=lambda item: item[1])
            if least > width and word not in theirs.at(least) | theirs.name
        ),
        None,
    )
    # Words that no width of the neighbour's line shows, the rarest in the roster first.
    own = sorted(
        nameable(
            word
            for word in content_words(" ".join(line.shown))
            if word not in theirs.shown and word not in theirs.name
        ),
        key=lambda word: (spread[word], line.shown[word]),
    )
    by_name = sorted(line.name - theirs.name - theirs.at(width))
    only = f"; only its name ({listed(by_name, 3)}) tells them apart" if by_name else ""
    severity, _ = RULES["line-indistinct"]
    shown = index_description(skill, width)
    if told_at is not None:
        when = f"from a width of {told_at} on it can be told"
    else:
        when = "at no width can it be told"
    if own:
        remedy = f"put {listed(own, 3)} within the first {width - 3} characters"
    else:
        remedy = f"say in the first {width - 3} characters what {neighbour.name} does not do"
    return Finding(
        code="line-indistinct",
        severity=severity,
        skill=skill.name,
        other=neighbour.name,
        words=tuple(sorted(line.at(width))),
        message=(
            f"at {width} characters its line says nothing that the line of {neighbour.name} does "
            f"not say{only}: '{shown}' against '{index_description(neighbour, width)}'; {when}"
        ),
        remedy=remedy,
        path=skill.source,
        weight=likeness - bool(by_name),
        details={"width": width, "told_at": told_at, "likeness": round(likeness, 4)},
    )


def _line(skill: Skill) -> _Line:
    text = index_description(skill, _LONG)
    shown: dict[str, int] = {}
    # Whole words only: the description is cut at width - 3, or not at all.
    for match in re.finditer(r"\S+", text):
        least = len(text) if match.end() + 3 > len(text) else match.end() + 3
        for word in telling_words(match.group()):
            shown.setdefault(word, min(least, len(text)))
    return _Line(frozenset(telling_words(spoken(skill.name))), shown)
