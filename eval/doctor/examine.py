"""Examine a roster without labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from eval.doctor.likeness import (
    confusable_pairs,
    near_duplicates,
    neighbours,
    silent_descriptions,
)
from eval.doctor.lines import indistinct_lines
from eval.doctor.phrases import choose_phrases
from eval.doctor.records import RULES, Finding, Report, Settings, in_order
from eval.doctor.retrieval import MIN_PHRASES, Finder, Hits, swallowing, unreachable
from roster import Roster
from router.local.encoder import Encoder
from router.local.text import summary

Progress = Callable[[int, int], None]

_SUMMARY_TOKENS = 80
_PHRASE_TOKENS = 32
_GROUP = 512


def examine(
    roster: Roster,
    encoder: Encoder,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> tuple[Report, NDArray[np.float32]]:
    """Find what is wrong with the descriptions of a roster.

    Args:
        roster: The roster.
        encoder: Encodes names, descriptions and phrases of the bodies.
        settings: What to examine against.
        progress: Told how many texts are encoded, and of how many so far.

    Returns:
        The report, and the unit vectors of names and descriptions, shape (n, d), for a map.
    """
    settings = settings or Settings()
    skills = list(roster)
    every = choose_phrases(skills, settings.phrases + settings.more_phrases)
    phrases = [row[: settings.phrases] for row in every]
    meter = _Meter(encoder, progress)
    summaries = meter.encode([summary(skill) for skill in skills], _SUMMARY_TOKENS)
    finder = Finder(skills, summaries)
    hits = finder.find(phrases, meter.encode(_flat(phrases), _PHRASE_TOKENS))
    tried, all_hits = _second_chances(finder, meter, every, phrases, hits)
    near = neighbours(summaries)
    findings = [
        *indistinct_lines(roster, settings.width, summaries),
        *silent_descriptions(skills, near, guessed(roster)),
        *near_duplicates(skills, near),
        *unreachable(skills, tried, all_hits),
        *swallowing(skills, phrases, hits),
        *misnamed(roster),
        *long_bodies(roster, settings.body_tokens),
    ]
    report = Report(
        skills=len(roster),
        roster_digest=roster.digest,
        settings=settings,
        cost=catalog_cost(roster, settings.width),
        findings=in_order(findings),
        pairs=tuple(confusable_pairs(skills, near)),
    )
    return report, summaries


def _second_chances(
    finder: Finder,
    meter: _Meter,
    every: Sequence[list[str]],
    phrases: Sequence[list[str]],
    hits: Hits,
) -> tuple[list[list[str]], Hits]:
    """Try further phrases, a few at a time, of the skills that none has found so far.

    Args:
        finder: Ranks the skills.
        meter: Encodes.
        every: All phrases of each skill.
        phrases: Those of them that were tried.
        hits: What these found.

    Returns:
        All phrases that were tried, and what they found.
    """
    step = max((len(row) for row in phrases), default=0)
    tried = [list(row) for row in phrases]
    found = set(hits.owner[hits.rank == 1].tolist())
    left = {
        row: finder.promising(row, more[len(tried[row]) :])
        for row, more in enumerate(every)
        if row not in found and len(more) >= MIN_PHRASES
    }
    while left := {row: more for row, more in left.items() if more and row not in found}:
        asked = [left.get(row, [])[:step] for row in range(len(tried))]
        again = finder.find(asked, meter.encode(_flat(asked), _PHRASE_TOKENS))
        found.update(again.owner[again.rank == 1].tolist())
        hits = hits.with_more(again)
        tried = [before + now for before, now in zip(tried, asked, strict=True)]
        left = {row: more[step:] for row, more in left.items()}
    return tried, hits


def _flat(rows: Iterable[list[str]]) -> list[str]:
    return [text for row in rows for text in row]


def guessed(roster: Roster) -> frozenset[str]:
    """Names of the skills whose file has no description that says anything."""
    codes = ("description-missing", "description-says-nothing", "description-unknown")
    paths = {problem.path for problem in roster.problems if problem.code in codes}
    return frozenset(skill.name for skill in roster if skill.source in paths)


def tokens(text: str) -> int:
    """Estimated tokens of a text: a fourth of its bytes in UTF-8."""
    return math.ceil(len(text.encode("utf-8", "replace")) / 4)


def catalog_cost(roster: Roster, width: int) -> dict[str, float]:
    """Estimated tokens that the index costs on every turn."""
    index = tokens(roster.prompt(width))
    return {
        "index": index,
        "full": tokens(roster.prompt(1 << 30)),
        "per_skill": round(index / max(len(roster), 1), 1),
    }


def misnamed(roster: Roster) -> Iterable[Finding]:
    """Skills whose name differs from their folder, as the loader found."""
    by_source = {skill.source: skill.name for skill in roster}
    severity, _ = RULES["name-not-folder"]
    for problem in roster.problems:
        if problem.code == "name-not-folder" and problem.path in by_source:
            yield Finding(
                code="name-not-folder",
                severity=severity,
                skill=by_source[problem.path],
                message=problem.message,
                remedy=problem.remedy,
                path=problem.path,
            )


def long_bodies(roster: Roster, budget: int) -> Iterable[Finding]:
    """Skills whose body costs more than the budget when it is loaded."""
    severity, _ = RULES["body-over-budget"]
    for skill in roster:
        size = tokens(skill.body)
        if size > budget:
            yield Finding(
                code="body-over-budget",
                severity=severity,
                skill=skill.name,
                message=f"the body has about {size:,} tokens, more than {budget:,}",
                remedy="move material into files that the body names, read only when needed",
                path=skill.source,
                weight=float(size),
                details={"tokens": size},
            )


class _Meter:
    """Encodes texts and tells how far it is; the total grows while more texts turn up."""

    def __init__(self, encoder: Encoder, progress: Progress | None) -> None:
        self._encoder = encoder
        self._progress = progress
        self._done = 0

    def encode(self, texts: list[str], max_tokens: int) -> NDArray[np.float32]:
        """Unit vectors of texts, shape (m, d)."""
        found = np.zeros((len(texts), self._encoder.dimension), dtype=np.float32)
        # Texts of like length together: a batch is as wide as its longest text.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        total = self._done + len(texts)
        for start in range(0, len(order), _GROUP):
            group = order[start : start + _GROUP]
            found[group] = self._encoder.encode([texts[i] for i in group], max_tokens).pooled
            self._done += len(group)
            if self._progress is not None:
                self._progress(self._done, total)
        return found
