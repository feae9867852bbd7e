"""Which words of a request a skill's text says word for word.

Token vectors put look-alikes side by side ("GitLab" and "GitHub"); whether the very word stands in
the skill tells them apart.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from router.local.lexical import LexicalIndex, among, words

PRESENCE = ("word", "front", "anywhere", "common")
"""The columns: the token belongs to a word; that word stands in the skill's name, category or
description; it stands there or in its body; how many skills of the roster say it: their share
times four, at most 1."""

_COMMON = 4.0

_RUN = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Said:
    """What a skill's text says, as hashes of its words, distinct and ascending.

    Attributes:
        front: In name, category and description.
        anywhere: In all of it.
    """

    front: NDArray[np.uint32]
    anywhere: NDArray[np.uint32]


@dataclass(frozen=True)
class Asked:
    """The words of a request and the tokens they are cut into.

    Attributes:
        text: The part of the request that its tokens reach: they are cut off at a length.
        hashes: Hashes of the words, shape (w,).
        runs: The run of letters and digits that each word is part of, ascending, shape (w,).
        tokens: The run that each token is part of, -1 for none, shape (t,).
        common: The fourth column of `PRESENCE` of each run, shape (r,).
    """

    text: str
    hashes: NDArray[np.uint32]
    runs: NDArray[np.int64]
    tokens: NDArray[np.int64]
    common: NDArray[np.float32]


def word_hashes(found: Iterable[str]) -> list[int]:
    """Hashes of words, those of one letter left out; the same as in a lexical index."""
    return [zlib.crc32(w.encode("utf-8", "replace")) for w in found if len(w) > 1]


def said(front: str, anywhere: str) -> Said:
    """What a skill's text says; see `router.local.text.fields` for the two texts."""
    hashes = (word_hashes(set(words(text))) for text in (front, anywhere))
    return Said(*(np.unique(np.array(one, dtype=np.uint32)) for one in hashes))


def asked(request: str, spans: NDArray[np.int64], roster: LexicalIndex) -> Asked:
    """The words of a request.

    Args:
        request: The request.
        spans: Where each of its tokens begins and ends in it, shape (t, 2).
        roster: Words of the roster's skills.
    """
    end = int(spans[:, 1].max(initial=0))
    # The last word stays whole where the tokens stop within it: a part of it may be another word.
    reached = takewhile(lambda found: found.start() < end, _RUN.finditer(request))
    runs = [(m.start(), m.end(), word_hashes(words(m.group()))) for m in reached]
    runs = [run for run in runs if run[2]]
    text, tokens = request[:end], np.full(len(spans), -1, dtype=np.int64)
    if not runs:
        nothing = np.zeros(0, np.uint32)
        return Asked(text, nothing, nothing.astype(np.int64), tokens, nothing.astype(np.float32))
    begins, ends = (np.array(side, dtype=np.int64) for side in list(zip(*runs, strict=True))[:2])
    at = np.searchsorted(begins, spans[:, 0], side="right") - 1
    inside = (at >= 0) & (spans[:, 1] > spans[:, 0]) & (spans[:, 1] <= ends[np.maximum(at, 0)])
    tokens[inside] = at[inside]
    hashes = np.array([one for run in runs for one in run[2]], dtype=np.uint32)
    lengths = [len(run[2]) for run in runs]
    starts = np.cumsum([0, *lengths[:-1]])
    rarest = np.minimum.reduceat(roster.shares_of(hashes), starts)
    common = np.minimum(_COMMON * rarest, np.float32(1.0))
    return Asked(text, hashes, np.repeat(np.arange(len(runs)), lengths), tokens, common)


def presence(request: Asked, skill: Said) -> NDArray[np.float32]:
    """What is present of each token of a request in a skill.

    A token counts as present when every word of its run is.

    Returns:
        Shape (t, 4), columns as in `PRESENCE`; 0 for a token that belongs to no word.
    """
    found = np.zeros((len(request.tokens), len(PRESENCE)), dtype=np.float32)
    within = request.tokens >= 0
    found[within, 0] = 1.0
    found[within, 3] = request.common[request.tokens[within]]
    for column, text in enumerate((skill.front, skill.anywhere), start=1):
        missing = np.zeros(len(request.common), dtype=np.bool_)
        missing[request.runs[~among(request.hashes, text)]] = True
        found[within, column] = ~missing[request.tokens[within]]
    return found
