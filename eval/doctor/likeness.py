"""Neighbours by meaning, near-duplicates by text, and descriptions without limits."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eval.doctor.records import RULES, Finding, Pair
from eval.doctor.wording import content_words, listed, says_limit, says_when
from roster import Skill
from router.local.text import MAX_BODY, plain

CONFUSABLE = 0.65
"""Least cosine of two names and descriptions that are easily confused."""

NEIGHBOURS = 8
"""Nearest skills of each that are looked at."""

DUPLICATE = 0.6
"""Least share of common text, of bodies or descriptions, in near-duplicates."""

_SHINGLE = 5
_BLOCK = 1_024


def neighbours(summaries: NDArray[np.float32]) -> list[list[tuple[int, float]]]:
    """The nearest others of each skill by cosine, the nearest first.

    Args:
        summaries: Unit vectors, shape (n, d).
    """
    count = min(NEIGHBOURS, max(len(summaries) - 1, 0))
    found: list[list[tuple[int, float]]] = []
    for start in range(0, len(summaries), _BLOCK):
        scores = summaries[start : start + _BLOCK] @ summaries.T
        for offset, row in enumerate(scores):
            row[start + offset] = -2.0
            nearest = np.argsort(-row, kind="stable")[:count]
            found.append([(int(i), float(row[i])) for i in nearest])
    return found


def confusable_pairs(
    skills: Sequence[Skill], near: Sequence[Sequence[tuple[int, float]]]
) -> list[Pair]:
    """Pairs of near neighbours, the most alike first, each once."""
    pairs = {
        (min(row, other), max(row, other)): likeness
        for row, others in enumerate(near)
        for other, likeness in others
        if likeness >= CONFUSABLE
    }
    return [
        Pair(first=skills[a].name, second=skills[b].name, likeness=round(min(value, 1.0), 4))
        for (a, b), value in sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    ]


def near_duplicates(
    skills: Sequence[Skill], near: Sequence[Sequence[tuple[int, float]]]
) -> list[Finding]:
    """Pairs of neighbours, or of equal descriptions, that share most of their text."""
    pairs = {
        (min(row, other), max(row, other)) for row, others in enumerate(near) for other, _ in others
    }
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for row, skill in enumerate(skills):
        groups[" ".join(content_words(skill.description))].append(row)
    for text, rows in groups.items():
        if text:
            pairs.update(pairwise(rows))
    bodies = [_shingles(skill.body) for skill in skills]
    texts = [content_words(skill.description) for skill in skills]
    findings = []
    for first, second in sorted(pairs):
        body = _overlap(bodies[first], bodies[second], least=40)
        described = _overlap(set(texts[first]), set(texts[second]), least=5)
        if max(body, described) >= DUPLICATE:
            findings.append(_duplicate(skills[first], skills[second], body, described))
    return findings


def _duplicate(skill: Skill, other: Skill, body: float, described: float) -> Finding:
    mine, theirs = content_words(skill.description), content_words(other.description)
    differ = [word for word in dict.fromkeys(mine) if word not in set(theirs)]
    differ += [word for word in dict.fromkeys(theirs) if word not in set(mine)]
    shared = tuple(word for word in dict.fromkeys(mine) if word in set(theirs))[:8]
    severity, _ = RULES["near-duplicate"]
    apart = f"only {listed(differ, 6)} differ" if differ else "no word of them differs"
    return Finding(
        code="near-duplicate",
        severity=severity,
        skill=skill.name,
        other=other.name,
        words=shared,
        message=(
            f"it and {other.name} have {described:.0%} of the words of their descriptions and "
            f"{body:.0%} of the text of their bodies in common; of the descriptions {apart}"
            if described >= DUPLICATE
            else f"it and {other.name} have {body:.0%} of the text of their bodies in common"
        ),
        remedy="merge the two, or say in each description what only this one does",
        path=skill.source,
        weight=max(body, described),
        details={"descriptions": round(described, 4), "bodies": round(body, 4)},
    )


def _shingles(text: str) -> set[int]:
    tokens = re.findall(r"\w+", plain(text[:MAX_BODY]).casefold())
    return {
        zlib.crc32(" ".join(tokens[i : i + _SHINGLE]).encode("utf-8", "replace"))
        for i in range(len(tokens) - _SHINGLE + 1)
    }


def _overlap(first: set[int] | set[str], second: set[int] | set[str], least: int) -> float:
    """Shared part of two sets (Jaccard), 0 when either is too small to tell."""
    if min(len(first), len(second)) < least:
        return 0.0
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)


def silent_descriptions(
    skills: Sequence[Skill],
    near: Sequence[Sequence[tuple[int, float]]],
    guessed: frozenset[str] = frozenset(),
) -> list[Finding]:
    """Descriptions that never say when to use the skill, or, beside a close neighbour, when not.

    Args:
        skills: The skills.
        near: Neighbours of each; see `neighbours`.
        guessed: Names of those whose description is the opening of the body.
    """
    findings = []
    for skill, others in zip(skills, near, strict=True):
        nearest = skills[others[0][0]] if others else None
        likeness = others[0][1] if others else 0.0
        text = skill.description
        if says_when(text) is False:
            severity, _ = RULES["no-when"]
            what = "the description"
            if skill.name in guessed:
                what = "its file has no description that says anything, and the opening of its text"
            findings.append(
                Finding(
                    code="no-when",
                    severity=severity,
                    skill=skill.name,
                    other=nearest.name if nearest and likeness >= CONFUSABLE else None,
                    words=tuple(content_words(text)[:6]),
                    message=f"{what} never says when to use it: '{_short(text)}'",
                    remedy="add a sentence that starts with 'Use when', with requests in the words "
                    "of users",
                    path=skill.source,
                    weight=likeness,
                )
            )
        if nearest is not None and likeness >= CONFUSABLE and says_limit(text) is False:
            severity, _ = RULES["no-when-not"]
            mine, theirs = content_words(text), set(content_words(nearest.description))
            findings.append(
                Finding(
                    code="no-when-not",
                    severity=severity,
                    skill=skill.name,
                    other=nearest.name,
                    words=tuple(w for w in dict.fromkeys(mine) if w in theirs)[:6],
                    message=(
                        f"{nearest.name} is close (likeness {likeness:.2f}), and the description "
                        "does not say what it is not for"
                    ),
                    remedy=f"add: Not for ...; use {nearest.name}",
                    path=skill.source,
                    weight=likeness,
                    details={"likeness": round(likeness, 4)},
                )
            )
    return findings


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "..."
