"""Token vectors of labelled rosters, which the pair scorer is trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eval.train.labelled import standardized_sum, tfidf_cosines
from eval.train.sources import Source
from router.local.encoder import DOCUMENT_TOKENS, QUERY_TOKENS, Encoder
from router.local.excerpt import Reader
from router.local.lexical import LexicalIndex, word_terms
from router.local.presence import Asked, Said, asked, presence
from router.local.text import document, fields

LOOKED_AT = 8
"""Skills that look right, a turn."""


@dataclass(frozen=True)
class TokenSource:
    """A labelled roster as token vectors.

    Attributes:
        group: Its name.
        skills: Token vectors of each skill, (l, k), float16.
        requests: Token vectors of each turn's request, (t, k), float16.
        importance: Weight of their tokens, (t,), float16.
        asked: The words of each turn's request.
        said: The words of each skill.
        gold: Row of each turn's right skill, -1 without one.
        near: Row of the skill a turn is near to, -1 without one.
        alike: Rows of the skills that look right to dense and lexical ranking, best first.
    """

    group: str
    skills: list[NDArray[np.float16]]
    requests: list[NDArray[np.float16]]
    importance: list[NDArray[np.float16]]
    asked: list[Asked]
    said: list[Said]
    gold: list[int]
    near: list[int]
    alike: list[list[int]]

    def presence(self, turn: int, row: int) -> NDArray[np.float16]:
        """What of each token of a turn's request is present in a skill, (t, 4)."""
        return presence(self.asked[turn], self.said[row]).astype(np.float16)


def token_sources(
    sources: Sequence[Source],
    encoder: Encoder,
    out_of_fold: Mapping[str, Encoder],
    report: Callable[[str], None] = lambda line: None,
) -> list[TokenSource]:
    """Encode labelled rosters, each with an encoder that was not trained on it.

    Args:
        sources: The rosters.
        encoder: The encoder the pair scorer is for.
        out_of_fold: For a group whose turns the encoder was trained on, one trained without it.
        report: Told what happens.
    """
    found = []
    for number, source in enumerate(sources, start=1):
        found.append(_encoded(source, out_of_fold.get(source.group, encoder)))
        report(f"tokens {number}/{len(sources)}: {source.group}, {len(source.turns)} turns")
    return found


def _encoded(source: Source, encoder: Encoder) -> TokenSource:
    rows = {skill.name: row for row, skill in enumerate(source.roster)}
    texts = [turn.turn().request_text for turn in source.turns]
    skills = encoder.encode([document(skill) for skill in source.roster], DOCUMENT_TOKENS)
    requests = encoder.encode(texts, QUERY_TOKENS)
    everything = LexicalIndex.build([word_terms(fields(skill)[0]) for skill in source.roster])
    likeness = standardized_sum(
        requests.pooled @ skills.pooled.T, tfidf_cosines(source.roster, texts)
    )
    return TokenSource(
        group=source.group,
        skills=[tokens.astype(np.float16) for tokens in skills.tokens],
        requests=[tokens.astype(np.float16) for tokens in requests.tokens],
        importance=[weights.astype(np.float16) for weights in requests.importance],
        asked=[asked(text, requests.spans_of(row), everything) for row, text in enumerate(texts)],
        said=[Reader().said(skill) for skill in source.roster],
        gold=[rows.get(turn.gold or "", -1) for turn in source.turns],
        near=[rows.get(turn.near or "", -1) for turn in source.turns],
        alike=[[int(row) for row in np.argsort(-scores)[:LOOKED_AT]] for scores in likeness],
    )


def padded(
    vectors: Sequence[NDArray[np.float16]],
) -> tuple[Tensor, Tensor]:
    """Vectors of m texts padded to the longest, (m, t, k) or (m, t), and their mask, (m, t)."""
    longest = max(len(one) for one in vectors)
    rows = np.zeros((len(vectors), longest, *vectors[0].shape[1:]), dtype=np.float32)
    mask = np.zeros((len(vectors), longest), dtype=np.float32)
    for i, one in enumerate(vectors):
        rows[i, : len(one)] = one
        mask[i, : len(one)] = 1.0
    return torch.from_numpy(rows), torch.from_numpy(mask)
