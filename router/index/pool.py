"""A large roster, ready to be asked: candidates from an index, then every signal of those."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from roster import Skill
from router.index.exact import ExactIndex
from router.index.folder import Part
from router.index.look import Look
from router.index.protocol import CandidateIndex, Wanted, requirement_key
from router.index.query import known_words, query, scores
from router.index.scoring import (
    Floats,
    Prepared,
    RowView,
    Text,
    blend,
    column_slopes,
    lexical_moments,
    selection_slopes,
    signals_of,
    text_weights,
)
from router.index.view import make_view
from router.local.encoder import QUERY_TOKENS, Encoder
from router.local.features import wide_features
from router.local.heads import Linear
from router.local.lexical import char_terms, word_terms
from router.local.onnx import default_threads
from router.local.signals import NAMES, Signals, mixed_vector
from router.turn import Turn

CANDIDATES = 400
"""Skills of a turn whose signals are all computed; the ranking names these."""

SAMPLE = 256
"""Skills whose signals say what is ordinary; deviations of so many are off by about 4 %."""

_REREAD = 64
_LEXICAL = [NAMES.index(name) for name in ("word", "char", "front", "cover")]
_DENSE = [NAMES.index(name) for name in ("document", "summary", "passage")]


class Pool:
    """The skills of a large roster; thread-safe.

    Copies of a skill are one row. Its name is the first of them in the roster's order, or the one
    the session has loaded.

    Args:
        groups: The skills by key (`router.index.groups.grouped`).
        parts: Their index (`router.index.folder.PoolFolder.open_or_build`).
        encoder: The encoder of the index.
        index: What finds candidates; by default the exact index.
        count: How many candidates are scored in full.
    """

    remembered = 16

    def __init__(
        self,
        groups: Mapping[bytes, Sequence[Skill]],
        parts: Sequence[Part],
        encoder: Encoder,
        index: CandidateIndex | None = None,
        count: int = CANDIDATES,
    ) -> None:
        self._encoder, self.count = encoder, count
        self.segments = [part.segment for part in parts]
        lengths = [len(segment) for segment in self.segments]
        self.offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self._live = np.zeros(len(self), np.bool_)
        row_of: dict[bytes, int] = {}
        for part, base in zip(parts, self.offsets.tolist(), strict=False):
            for key, row in part.row_of().items():
                row_of[key] = base + row
        self.members: dict[int, list[str]] = {}
        self.rows: dict[str, int] = {}
        self.requires: dict[int, tuple[str, ...]] = {}
        for key, skills in groups.items():
            self._enter(row_of[key], skills)
        keys = np.concatenate([segment.keys for segment in self.segments])
        self._key_order = np.empty(len(self), np.int64)
        self._key_order[np.lexsort(keys.T[::-1])] = np.arange(len(self))
        self.index = index or ExactIndex(self.segments, default_threads())
        self._eligible = lru_cache(maxsize=64)(self._eligible_for)

    def _enter(self, row: int, skills: Sequence[Skill]) -> None:
        self._live[row] = True
        self.members[row] = [skill.name for skill in skills]
        self.rows.update(dict.fromkeys(self.members[row], row))
        if skills[0].requires:
            self.requires[row] = skills[0].requires

    def __len__(self) -> int:
        """Rows, those that no longer count included."""
        return int(self.offsets[-1])

    def look(
        self, turn: Turn, wide: Linear, also: Collection[str] = (), count: int | None = None
    ) -> Look:
        """Rank the skills that a turn may be about.

        Args:
            turn: The turn; its request is not blank.
            wide: The learned fusion.
            also: Names of skills to look at besides.
            count: How many candidates are scored in full, if not as many as usual.

        Returns:
            The candidates, the best first; the first ones, and those of `also`, can be reread.
        """
        seen = self.prepare(turn)
        chosen = selection_slopes(column_slopes(wide, seen.moments[1]), seen)
        eligible, requirements = self._eligible(turn.allowed_tools)
        wanted = Wanted(
            vectors=seen.vectors,
            weights=np.array(text_weights(len(seen.texts)), np.float32),
            slopes=chosen[_DENSE],
            lexical=(seen.lexical @ chosen[_LEXICAL]).astype(np.float32),
            eligible=eligible,
            requirements=requirements,
        )
        found = self.index.candidates(wanted, count or self.count)
        named = np.array([self.rows[name] for name in also], np.int64)
        rows = np.unique(np.concatenate([found, named]))
        matrix = self.matrix(self.view(rows), seen)
        logits = wide(wide_features(matrix, seen.moments))
        # Equal ones in the order of their keys: the order on disk must not show.
        order = np.lexsort((self._key_order[rows], -logits))
        shown = np.isin(np.arange(len(rows)), order[:_REREAD]) | np.isin(rows, named)
        order = np.concatenate([order[shown[order]], order[~shown[order]]])
        rows, matrix, logits = rows[order], matrix[order], logits[order]
        names = [self._name(row, turn.loaded) for row in rows.tolist()]
        most = int(shown.sum())
        first = seen.texts[0]
        signals = Signals(
            matrix=matrix,
            request=first.pooled,
            mixed=mixed_vector(seen.vectors),
            tokens=first.tokens,
            importance=first.importance,
            words=word_terms(turn.request_text),
            spans=seen.spans,
            moments=seen.moments,
        )
        segments = [segment.word for segment in self.segments]
        words = known_words(turn.request_text, segments, len(self))
        view = make_view(self.segments, self.offsets, rows[:most], names[:most], words)
        spoken = {
            name: at for at, row in enumerate(rows[:most].tolist()) for name in self.members[row]
        }
        return Look(signals, logits, names, spoken, view)

    def _name(self, row: int, loaded: Collection[str]) -> str:
        members = self.members[row]
        if not loaded:
            return members[0]
        return next((name for name in members if name in loaded), members[0])

    def _eligible_for(
        self, tools: frozenset[str] | None
    ) -> tuple[NDArray[np.bool_], tuple[str, ...] | None]:
        """Which rows a turn with these tools may name, and the sets of tools they require."""
        if tools is None:
            return self._live, None
        kept = self._live.copy()
        for row, required in self.requires.items():
            kept[row] &= tools.issuperset(required)
        satisfied = {
            requirement_key(required)
            for required in self.requires.values()
            if tools.issuperset(required)
        }
        return kept, ("", *sorted(satisfied - {""}))

    def _text(self, text: str, pooled: Floats, tokens: Floats, importance: Floats) -> Text:
        terms = {"word": word_terms(text), "char": char_terms(text)}
        columns = []
        for name in ("word", "char", "front"):
            lists = [getattr(segment, name) for segment in self.segments]
            asked = query(terms.get(name, terms["word"]), lists, len(self))
            found = [scores(asked, one, coverage=name == "word") for one in lists]
            columns.append(np.concatenate([cosine for cosine, _ in found]))
            if name == "word":
                cover = np.concatenate([covered for _, covered in found])
        return Text(pooled, tokens, importance, np.stack([*columns, cover], axis=1))

    def prepare(self, turn: Turn) -> Prepared:
        """Everything about a turn that no candidate is needed for; the turn is not blank."""
        request, context = turn.request_text, turn.context_text
        given = [request, context] if context else [request]
        encoded = self._encoder.encode(given, QUERY_TOKENS)
        each = zip(given, encoded.pooled, encoded.tokens, encoded.importance, strict=True)
        texts = [self._text(*one) for one in each]
        lexical = blend([text.lexical for text in texts])
        sampled = blend([signals_of(self._sample, text) for text in texts])
        mean, spread = sampled.mean(axis=0), sampled.std(axis=0)
        mean[_LEXICAL], spread[_LEXICAL] = lexical_moments(lexical)
        moments = (mean, spread)
        return Prepared(encoded.pooled, texts, lexical, sampled, moments, encoded.spans_of(0))

    def view(self, rows: NDArray[np.int64]) -> RowView:
        """Everything about some rows that does not depend on the turn."""
        index = make_view(self.segments, self.offsets, rows, [str(row) for row in rows.tolist()])
        return RowView(rows, index)

    def matrix(self, view: RowView, seen: Prepared) -> Floats:
        """All signals of some rows for a turn, shape (c, 8), columns as in `signals.NAMES`."""
        return blend([signals_of(view, text) for text in seen.texts])

    @cached_property
    def _sample(self) -> RowView:
        # Keys are digests: the lowest of the first segment are as good as drawn, and stay the
        # same while later segments come and go.
        first = np.argsort(self._key_order[: self.offsets[1]])[:SAMPLE]
        return self.view(np.sort(first))
