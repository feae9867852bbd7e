"""The index of a roster: everything about its skills that does not depend on the request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from roster import Roster, Skill
from router.local.encoder import Encoder
from router.local.lexical import LexicalIndex, char_terms, word_terms
from router.local.text import fields
from router.local.vectors import Progress, SkillVectors, encode_skills

_TOKENS_KEPT = 400_000
"""Tokens of a roster up to which a transposed copy of them is kept: 40 MB, some 2,500 skills."""

_TOKENS_AT_ONCE = 2_048
"""Tokens of a block: its products with a request stay in the processor's cache."""


@dataclass(frozen=True)
class SkillIndex:
    """Vectors and inverted lists of n skills.

    Attributes:
        names: Skill names in the roster's order.
        skill_digests: `text_digest` of each skill.
        documents: Pooled vectors of the documents, shape (n, d).
        summaries: Pooled vectors of name and description, shape (n, d).
        passages: Pooled vectors of all body pieces, shape (p, d).
        passage_starts: Where each skill's pieces begin, shape (n + 1,).
        tokens: Token vectors of all documents, int8, shape (t, k).
        token_starts: Where each skill's tokens begin, shape (n + 1,).
        word: Words over all text.
        char: Character n-grams over all text.
        front: Words over name, category and description.
    """

    names: tuple[str, ...]
    skill_digests: tuple[str, ...]
    documents: NDArray[np.float32]
    summaries: NDArray[np.float32]
    passages: NDArray[np.float32]
    passage_starts: NDArray[np.int64]
    tokens: NDArray[np.int8]
    token_starts: NDArray[np.int64]
    word: LexicalIndex
    char: LexicalIndex
    front: LexicalIndex

    def __len__(self) -> int:
        return len(self.names)

    def token_blocks(self) -> Iterator[tuple[int, int, NDArray[np.int8]]]:
        """Token vectors, transposed, a run of skills at a time.

        Yields:
            First skill, skill after the last, and their tokens, shape (k, t). Those of a small
            roster are transposed once and kept; those of a large one as they are read.
        """
        return iter(self._blocks) if len(self.tokens) <= _TOKENS_KEPT else self._transposed()

    @cached_property
    def _blocks(self) -> list[tuple[int, int, NDArray[np.int8]]]:
        return list(self._transposed())

    def _transposed(self) -> Iterator[tuple[int, int, NDArray[np.int8]]]:
        first = 0
        while first < len(self):
            end = self.token_starts[first] + _TOKENS_AT_ONCE
            last = int(np.searchsorted(self.token_starts, end, side="right")) - 1
            last = min(max(first + 1, last), len(self))
            block = self.tokens[self.token_starts[first] : self.token_starts[last]]
            yield first, last, np.ascontiguousarray(block.T)
            first = last

    def vectors(self, row: int) -> SkillVectors:
        """The vectors of one skill, as they were encoded."""
        p, t = self.passage_starts, self.token_starts
        return SkillVectors(
            document=self.documents[row],
            summary=self.summaries[row],
            passages=self.passages[p[row] : p[row + 1]],
            tokens=self.tokens[t[row] : t[row + 1]],
        )


def text_digest(skill: Skill) -> str:
    """SHA-256 (hex) of every text of a skill that is indexed.

    A skill's own digest is of its bytes: the same bytes can be read better by a later version, and
    a copy made in code can hold other text.
    """
    texts = [skill.name, skill.category, skill.description, skill.body]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def build_index(
    roster: Roster,
    encoder: Encoder,
    known: dict[tuple[str, str], SkillVectors] | None = None,
    progress: Progress | None = None,
) -> SkillIndex:
    """Index a roster.

    Args:
        roster: The roster.
        encoder: Encodes the skills that are not `known`.
        known: Vectors by (name, `text_digest`), from an earlier index of the same encoder.
        progress: Told how many skills are encoded.

    Returns:
        The index.
    """
    skills = list(roster)
    known = dict(known or {})
    missing = [skill for skill in skills if (skill.name, text_digest(skill)) not in known]
    for skill, vectors in zip(missing, encode_skills(encoder, missing, progress), strict=True):
        known[skill.name, text_digest(skill)] = vectors
    return assemble(skills, [known[skill.name, text_digest(skill)] for skill in skills], encoder)


def assemble(
    skills: Sequence[Skill], vectors: Sequence[SkillVectors], encoder: Encoder
) -> SkillIndex:
    """The index of skills whose vectors are at hand."""
    texts = [fields(skill) for skill in skills]
    d, k = encoder.dimension, encoder.token_dimension
    return SkillIndex(
        names=tuple(skill.name for skill in skills),
        skill_digests=tuple(text_digest(skill) for skill in skills),
        documents=np.array([v.document for v in vectors], dtype=np.float32).reshape(-1, d),
        summaries=np.array([v.summary for v in vectors], dtype=np.float32).reshape(-1, d),
        passages=_stacked([v.passages for v in vectors], d, np.float32),
        passage_starts=_starts([len(v.passages) for v in vectors]),
        tokens=_stacked([v.tokens for v in vectors], k, np.int8),
        token_starts=_starts([len(v.tokens) for v in vectors]),
        word=LexicalIndex.build([word_terms(full) for full, _ in texts]),
        char=LexicalIndex.build([char_terms(full) for full, _ in texts]),
        front=LexicalIndex.build([word_terms(front) for _, front in texts]),
    )


def _stacked(parts: Sequence[NDArray[np.generic]], width: int, dtype: type) -> NDArray:  # type: ignore[type-arg]
    if not parts:
        return np.zeros((0, width), dtype=dtype)
    return np.concatenate(parts).astype(dtype, copy=False)


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
