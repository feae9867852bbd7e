"""Building segments: of new skills, and of segments that are merged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roster import Skill
from router.index.arrays import Array
from router.index.embeddings import EmbeddingStore
from router.index.lexical import invert, pack_terms
from router.index.segment import Segment, flat, write_segment
from router.index.texts import skill_texts
from router.local.lexical import char_terms, word_terms
from router.local.text import fields

Keyed = Sequence[tuple[bytes, Skill]]

_SKILLS_A_BATCH = 500
_VECTORS_AT_ONCE = 8_192


def new_segment(
    folder: Path,
    skills: Keyed,
    store: EmbeddingStore,
    beside: Sequence[Segment] = (),
) -> Path:
    """Write a segment of skills whose texts are embedded.

    Terms are counted with joblib, by as many workers as `joblib.parallel_config` says: one by
    default.

    Args:
        folder: Where segments lie.
        skills: Key and skill, each key once.
        store: Holds the vectors of all their texts.
        beside: Segments that stand beside it: terms are weighed by all of them together.

    Returns:
        The segment's file.

    Raises:
        KeyError: If a text is not embedded.
        OSError: If the folder cannot be written.
    """
    words, fronts, chars = _terms(skills)
    known = sum(len(segment) for segment in beside)
    m = len(skills)
    arrays: dict[str, Array | Sequence[Array]] = {
        "keys": np.frombuffer(b"".join(key for key, _ in skills), np.uint8).reshape(-1, 16),
        **_vectors([skill for _, skill in skills], store),
        **flat(
            word=invert(words, m, [one.word.vocabulary for one in beside], known),
            front=invert(fronts, m, [one.front.vocabulary for one in beside], known),
            char=invert(chars, m, [one.char.vocabulary for one in beside], known),
        ),
    }
    return write_segment(folder, arrays)


def merged_segment(folder: Path, kept: Sequence[tuple[Segment, NDArray[np.int64]]]) -> Path:
    """Write one segment of some rows of several: no text is read and nothing is embedded.

    Args:
        folder: Where segments lie.
        kept: Segments and, ascending, the rows of each that are kept.

    Returns:
        The segment's file.

    Raises:
        OSError: If the folder cannot be written.
    """
    size = sum(len(rows) for _, rows in kept)
    arrays: dict[str, Array | Sequence[Array]] = {
        "keys": np.concatenate([segment.keys[rows] for segment, rows in kept]),
        **_kept_vectors(kept),
        **flat(
            word=invert(_kept_postings(kept, "word"), size),
            front=invert(_kept_postings(kept, "front"), size),
            char=invert(_kept_postings(kept, "char"), size),
        ),
    }
    return write_segment(folder, arrays)


def _terms(skills: Keyed) -> list[NDArray[np.uint64]]:
    from joblib import Parallel, delayed

    texts = [fields(skill) for _, skill in skills]
    work = (
        delayed(count_terms)(texts[at : at + _SKILLS_A_BATCH], at)
        for at in range(0, len(texts), _SKILLS_A_BATCH)
    )
    nothing = np.zeros(0, np.uint64)
    batches = [(nothing, nothing, nothing), *Parallel(return_as="generator")(work)]
    found = []
    for place in range(3):
        found.append(np.concatenate([batch[place] for batch in batches]))
        for at, batch in enumerate(batches):  # the largest part of a build's memory
            batches[at] = tuple(nothing if i == place else one for i, one in enumerate(batch))
    return found


def count_terms(
    texts: Sequence[tuple[str, str]], at: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Packed terms of some skills: one part of a bulk job.

    Args:
        texts: Each skill's whole text and its front (`router.local.text.fields`).
        at: Row of the first one.

    Returns:
        Words over all text, words of the front, and character n-grams over all text.
    """
    words = [pack_terms(at + i, word_terms(full)) for i, (full, _) in enumerate(texts)]
    fronts = [pack_terms(at + i, word_terms(front)) for i, (_, front) in enumerate(texts)]
    chars = [pack_terms(at + i, char_terms(full)) for i, (full, _) in enumerate(texts)]
    return np.concatenate(words), np.concatenate(fronts), np.concatenate(chars)


def _vectors(skills: Sequence[Skill], store: EmbeddingStore) -> dict[str, Array | Sequence[Array]]:
    ids: dict[bytes, int] = {}
    owners: dict[bytes, int] = {}
    documents, summaries, token_rows = [], [], []
    passages: list[int] = []
    passage_starts = [0]
    for skill in skills:
        keys = [key for key, _, _ in skill_texts(skill).keyed()]
        places = [ids.setdefault(key, len(ids)) for key in keys]
        documents.append(places[0])
        summaries.append(places[1])
        passages += places[2:]
        passage_starts.append(len(passages))
        token_rows.append(owners.setdefault(keys[0], len(owners)))
    ordered = list(ids)
    pieces, scales = [], []
    for at in range(0, len(ordered), _VECTORS_AT_ONCE):
        rows, scale = to_int8(store.pooled(ordered[at : at + _VECTORS_AT_ONCE]))
        pieces.append(rows)
        scales.append(scale)
    tokens = [store.tokens(key) for key in owners]
    none = np.zeros((0, store.token_dimension), np.int8)
    vectors = np.concatenate([np.zeros((0, store.dimension), np.int8), *pieces])
    return {
        "vectors": vectors,
        "columns": np.ascontiguousarray(vectors.T),
        "scales": np.concatenate([np.zeros(0, np.float32), *scales]),
        "documents": np.array(documents, np.int32),
        "summaries": np.array(summaries, np.int32),
        "passages": np.array(passages, np.int32),
        "passage_starts": np.array(passage_starts, np.int64),
        "tokens": [none, *tokens],
        "token_starts": np.cumsum([0, *map(len, tokens)]).astype(np.int64),
        "token_rows": np.array(token_rows, np.int32),
    }


def to_int8(vectors: NDArray[np.float16]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Vectors as integers of -127 to 127, each with a scale of its own.

    A cosine of two such vectors is off by about 0.0005.
    """
    rows = vectors.astype(np.float32)
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-9) / np.float32(127.0)
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def _kept_postings(
    kept: Sequence[tuple[Segment, NDArray[np.int64]]], name: str
) -> NDArray[np.uint64]:
    parts, at = [np.zeros(0, np.uint64)], 0
    for segment, rows in kept:
        postings = getattr(segment, name)
        place = np.full(len(segment), -1, np.int64)
        place[rows] = np.arange(at, at + len(rows))
        at += len(rows)
        packed = postings.packed()
        new = place[postings.entries >> np.uint32(8)]
        low = np.uint64(0xFF)
        terms = packed & ~np.uint64(0xFFFFFFFF)
        moved = terms | (new.astype(np.uint64) << np.uint64(8)) | (packed & low)
        parts.append(moved[new >= 0])
    return np.concatenate(parts)


def _kept_vectors(
    kept: Sequence[tuple[Segment, NDArray[np.int64]]],
) -> dict[str, Array | Sequence[Array]]:
    vectors: list[NDArray[np.int8]] = []
    scales: list[Array] = []
    tokens: list[Array] = []
    documents, summaries, passages, token_rows = [], [], [], []
    lengths: list[NDArray[np.int64]] = []
    token_lengths: list[NDArray[np.int64]] = []
    base = owner_base = 0
    for segment, rows in kept:
        spans = np.diff(segment.passage_starts)
        wanted = np.zeros(len(segment), np.bool_)
        wanted[rows] = True
        its_passages = segment.passages[np.repeat(wanted, spans)]
        parts = (segment.documents[rows], segment.summaries[rows], its_passages)
        used, inverse = np.unique(np.concatenate(parts), return_inverse=True)
        moved = (inverse + base).astype(np.int32)
        documents.append(moved[: len(rows)])
        summaries.append(moved[len(rows) : 2 * len(rows)])
        passages.append(moved[2 * len(rows) :])
        vectors.append(segment.vectors[used])
        scales.append(segment.scales[used])
        owners, first, place = np.unique(
            segment.token_rows[rows], return_index=True, return_inverse=True
        )
        found, its_lengths = segment.read_tokens(rows[first])
        tokens.append(found)
        token_lengths.append(its_lengths)
        token_rows.append((place + owner_base).astype(np.int32))
        lengths.append(spans[rows])
        base, owner_base = base + len(used), owner_base + len(owners)
    joined = np.concatenate(vectors)
    return {
        "vectors": joined,
        "columns": np.ascontiguousarray(joined.T),
        "scales": np.concatenate(scales),
        "documents": np.concatenate(documents),
        "summaries": np.concatenate(summaries),
        "passages": np.concatenate(passages),
        "passage_starts": np.cumsum(np.concatenate([[0], *lengths])).astype(np.int64),
        "tokens": tokens,
        "token_starts": np.cumsum(np.concatenate([[0], *token_lengths])).astype(np.int64),
        "token_rows": np.concatenate(token_rows),
    }
