"""Whether a skill's own phrases find it, by the names and descriptions of the roster."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.doctor.phrases import candidates
from eval.doctor.records import RULES, Finding
from eval.doctor.wording import content_words, listed, nameable
from roster import Skill
from router.local.lexical import LexicalIndex, word_terms
from router.local.text import spoken, summary

MIN_PHRASES = 5
"""Fewer phrases say nothing about a body."""

MIN_OWNERS = 5
"""Least number of skills whose phrases another one takes before it swallows them."""

_BLOCK = 512
# A word in more phrases than this, such as "code" or "change", tells nobody what a skill is for.
_COMMON_SHARE = 0.01
_FEW_PHRASES = 4


@dataclass(frozen=True)
class Hits:
    """How p phrases rank their own skill among n.

    Attributes:
        owner: Skill of each phrase, shape (p,).
        rank: Rank of the owner, 1 the best, shape (p,).
        first: Skill at rank 1, shape (p,).
    """

    owner: NDArray[np.int64]
    rank: NDArray[np.int64]
    first: NDArray[np.int64]

    def with_more(self, more: Hits) -> Hits:
        """Both together, ordered by owner; the phrases of `more` after those of the same owner."""
        owner = np.concatenate([self.owner, more.owner])
        order = np.argsort(owner, kind="stable")
        rank, first = np.append(self.rank, more.rank), np.append(self.first, more.first)
        return Hits(owner[order], rank[order], first[order])


class Finder:
    """Ranks n skills by cosine of vectors plus cosine of TF-IDF over names and descriptions.

    Args:
        skills: The skills.
        summaries: Unit vectors of name and description, shape (n, d).
    """

    def __init__(self, skills: Sequence[Skill], summaries: NDArray[np.float32]) -> None:
        self._summaries = summaries
        self._index = LexicalIndex.build([word_terms(summary(skill)) for skill in skills])

    def find(self, phrases: Sequence[Sequence[str]], vectors: NDArray[np.float32]) -> Hits:
        """Rank every skill for every phrase.

        Args:
            phrases: Phrases of each skill, p in all.
            vectors: Unit vectors of the phrases in order, shape (p, d).
        """
        owner = np.repeat(np.arange(len(phrases)), [len(row) for row in phrases])
        flat = [phrase for row in phrases for phrase in row]
        rank = np.zeros(len(flat), dtype=np.int64)
        first = np.zeros(len(flat), dtype=np.int64)
        for start in range(0, len(flat), _BLOCK):
            block = slice(start, start + _BLOCK)
            lexical = [self._index.scores(word_terms(phrase)) for phrase in flat[block]]
            scores = vectors[block] @ self._summaries.T + np.stack(lexical)
            own = scores[np.arange(len(scores)), owner[block]]
            rank[block] = 1 + (scores > own[:, None]).sum(axis=1)
            first[block] = scores.argmax(axis=1)
        return Hits(owner, rank, first)

    def promising(self, row: int, phrases: Sequence[str]) -> list[str]:
        """Phrases of a skill, those first whose words alone set it most apart from the others.

        Which of them finds it does not depend on the order, only how soon one is met.

        Args:
            row: The skill.
            phrases: Its phrases.
        """

        def lead(phrase: str) -> float:
            scores = self._index.scores(word_terms(phrase))
            own = float(scores[row])
            scores[row] = -1.0
            return own - float(scores.max())

        return sorted(phrases, key=lead, reverse=True)


def unreachable(
    skills: Sequence[Skill], phrases: Sequence[Sequence[str]], hits: Hits
) -> list[Finding]:
    """Skills that none of their own phrases finds first."""
    findings = []
    spread = Counter(w for row in phrases for phrase in row for w in set(content_words(phrase)))
    starts = np.concatenate([[0], np.cumsum([len(row) for row in phrases])])
    for row, skill in enumerate(skills):
        block = slice(starts[row], starts[row + 1])
        ranks = hits.rank[block]
        if len(ranks) < MIN_PHRASES or (ranks == 1).any():
            continue
        best = int(ranks.argmin())
        takers = Counter(int(first) for first in hits.first[block])
        taker, taken = takers.most_common(1)[0]
        lacking = _lacking(skill, spread, len(hits.rank))
        severity, _ = RULES["unreachable"]
        findings.append(
            Finding(
                code="unreachable",
                severity=severity,
                skill=skill.name,
                other=skills[taker].name,
                words=tuple(lacking),
                message=(
                    f"none of {len(ranks)} phrases of its body finds it first by name and "
                    f"description; the best, '{_short(phrases[row][best])}', finds it at rank "
                    f"{ranks[best]}; {skills[taker].name} takes {taken} of them"
                ),
                remedy=(
                    f"write in the description what the body speaks of: {listed(lacking)}"
                    if len(lacking) > 1
                    else f"say in the description what {skills[taker].name} does not do"
                ),
                path=skill.source,
                weight=float(np.median(ranks)),
                details={
                    "phrases": [
                        {"text": text, "rank": int(rank), "first": skills[int(first)].name}
                        for text, rank, first in zip(
                            phrases[row], ranks, hits.first[block], strict=True
                        )
                    ]
                },
            )
        )
    return findings


def _lacking(skill: Skill, spread: Counter[str], phrases: int) -> list[str]:
    """Words that the prose of a body uses again and again and other bodies hardly.

    Args:
        skill: The skill; words of its name and description are left out.
        spread: In how many of the phrases of all bodies each word occurs.
        phrases: How many phrases there are.
    """
    has = set(content_words(f"{spoken(skill.name)} {skill.description}"))
    count = Counter(word for phrase in candidates(skill) for word in nameable(phrase.words))
    most = max(_FEW_PHRASES, phrases * _COMMON_SHARE)
    weight = {
        word: (1 + math.log(times)) * math.log((1 + phrases) / (1 + spread[word]))
        for word, times in count.items()
        if times > 1 and word not in has and spread[word] <= most
    }
    return sorted(weight, key=lambda word: (-weight[word], word))[:6]


def swallowing(
    skills: Sequence[Skill], phrases: Sequence[Sequence[str]], hits: Hits
) -> list[Finding]:
    """Skills that are found first for the phrases of many others.

    A skill swallows when it takes phrases of at least five others, and of more others than all but
    a few skills do: more than four standard deviations over the mean.
    """
    flat = [phrase for row in phrases for phrase in row]
    taken: defaultdict[int, list[int]] = defaultdict(list)
    for index in np.flatnonzero(hits.rank > 1):
        taken[int(hits.first[index])].append(int(index))
    owners = np.zeros(len(skills))
    for row, indices in taken.items():
        owners[row] = len({int(hits.owner[i]) for i in indices})
    least = max(float(MIN_OWNERS), float(owners.mean() + 4 * owners.std())) if len(skills) else 0.0
    findings = []
    for row in map(int, np.flatnonzero(owners >= least)):
        skill, indices = skills[row], taken[row]
        robbed = Counter(int(hits.owner[i]) for i in indices)
        most = skills[robbed.most_common(1)[0][0]]
        own = set(content_words(f"{spoken(skill.name)} {skill.description}"))
        shared = Counter(word for i in indices for word in set(content_words(flat[i])) & own)
        words = tuple(nameable(word for word, count in shared.most_common(20) if count > 1)[:6])
        if not words:
            continue
        severity, _ = RULES["swallows"]
        findings.append(
            Finding(
                code="swallows",
                severity=severity,
                skill=skill.name,
                other=most.name,
                words=words,
                message=(
                    f"it is found first for {len(indices)} phrases of {len(robbed)} other skills, "
                    f"such as '{_short(flat[indices[0]])}' of {skills[hits.owner[indices[0]]].name}"
                ),
                remedy=(
                    f"narrow {listed(words)} to what it works on, and add what it is not for, such "
                    f"as: Not for the work of {most.name}"
                ),
                path=skill.source,
                weight=float(owners[row]),
                details={"skills": [skills[i].name for i, _ in robbed.most_common(20)]},
            )
        )
    return findings


def _short(phrase: str) -> str:
    return phrase if len(phrase) <= 90 else phrase[:87] + "..."
