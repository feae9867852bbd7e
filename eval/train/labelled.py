"""Labelled turns with the skills of their roster that look right and are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.data import LabelledTurn
from eval.train.errors import TrainError
from eval.train.model import TokenEncoder
from eval.train.sources import Source
from roster import Roster
from router.local.encoder import DOCUMENT_TOKENS
from router.local.text import document

REQUEST_TOKENS = 64
NEAR_KINDS = ("near_miss", "how_would")
_LOOKED_AT = 8


@dataclass(frozen=True)
class Example:
    """A labelled turn, ready for training.

    Attributes:
        source: Number of its source.
        text: The request.
        gold: Row of the right skill in the source's roster, or None.
        wrong: Rows of skills that look right; one listed twice is drawn twice as often.
        kind: The turn's kind.
    """

    source: int
    text: str
    gold: int | None
    wrong: tuple[int, ...]
    kind: str


def find_wrong(model: TokenEncoder, sources: Sequence[Source]) -> list[list[int]]:
    """For each turn of each source the wrong skills that an encoder and TF-IDF rank highest."""
    found: list[list[int]] = []
    for source in sources:
        rows = {skill.name: row for row, skill in enumerate(source.roster)}
        for turn, scores in zip(source.turns, _likeness(model, source), strict=True):
            best = [int(row) for row in np.argsort(-scores)[:_LOOKED_AT]]
            found.append(_wrong(turn, rows.get(turn.gold or ""), rows.get(turn.near or ""), best))
    return found


def as_examples(sources: Sequence[Source], wrong: Sequence[Sequence[int]]) -> list[Example]:
    """The turns of the sources with their wrong skills, in the order of `find_wrong`.

    Raises:
        TrainError: If no turn is covered.
    """
    turns = [
        (number, {skill.name: row for row, skill in enumerate(source.roster)}, turn)
        for number, source in enumerate(sources)
        for turn in source.turns
    ]
    found = [
        Example(
            number,
            turn.text,
            None if turn.gold is None else rows[turn.gold],
            tuple(its_wrong),
            turn.group,
        )
        for (number, rows, turn), its_wrong in zip(turns, wrong, strict=True)
    ]
    if not any(example.gold is not None for example in found):
        raise TrainError(
            "no labelled turn of the training groups is covered; choose other --groups"
        )
    return found


def _wrong(turn: LabelledTurn, gold: int | None, near: int | None, best: list[int]) -> list[int]:
    if gold is not None:
        return [row for row in best if row != gold][:6]
    if near is not None:
        return [near, near, *[row for row in best if row != near][:4]]
    return best[:4]


def _likeness(model: TokenEncoder, source: Source) -> NDArray[np.float64]:
    """Standardized cosine plus standardized TF-IDF cosine, (turns, skills)."""
    texts = [turn.text for turn in source.turns]
    skills = model.encode([document(skill) for skill in source.roster], DOCUMENT_TOKENS).pooled
    requests = model.encode(texts, REQUEST_TOKENS).pooled
    return standardized_sum(requests @ skills.T, tfidf_cosines(source.roster, texts))


def tfidf_cosines(roster: Roster, texts: Sequence[str]) -> NDArray[np.float64]:
    """TF-IDF cosines of texts with the skills of a roster, (texts, skills)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    lexical = vectorizer.fit_transform(f"{s.name} {s.description} {s.body}" for s in roster)
    cosines: NDArray[np.float64] = (vectorizer.transform(texts) @ lexical.T).toarray()
    return cosines


def standardized_sum(*scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """The sum of scores, each with mean 0 and deviation 1 a turn."""
    total: NDArray[np.float64] = np.sum([_standard(one) for one in scores], axis=0)
    return total


def _standard(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    scores = scores.astype(np.float64)
    deviation = scores.std(axis=1, keepdims=True) + 1e-6
    standardized: NDArray[np.float64] = (scores - scores.mean(axis=1, keepdims=True)) / deviation
    return standardized
