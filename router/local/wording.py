"""How a request is worded, beside the skill that fits it best: what tells a doubtful decision.

The local judge can be sure and wrong where it cannot read: a product it takes for its rival, a word
that no skill says, a language its encoder was not trained on.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from router.local.presence import Asked

WORD_NAMES = (
    "absent",
    "absent_most",
    "not_in_front",
    "not_in_front_most",
    "alike",
    "alike_most",
    "unlike",
    "unlike_most",
    "unheard",
    "unheard_most",
    "elsewhere",
    "elsewhere_most",
    "telling_front",
    "telling_front_most",
    "telling",
    "telling_most",
)
"""Importance of the request's words that the skill does not say; that are not in its front; that it
does not say but has something like, or nothing like; that it does not say and no skill does, or
others do; of those that stand in its front, and in it, and that few others say. Of each the sum,
and the most that one word has."""

REQUEST_NAMES = ("pieces", "foreign_letters", "common_words")
"""Logarithm of the tokens a word is cut into on average; share of letters outside ASCII; share of
words that English sentences are made of."""

WORDING_NAMES = (
    *(f"words:{name}" for name in WORD_NAMES),
    *(f"request:{name}" for name in REQUEST_NAMES),
)
"""The columns of `wording`."""

_WORD = re.compile(r"[^\W\d_]+")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a all and any are as at be been but by can do does for from had has have how i if in is "
        "it just me my no not of on or our out please so that the this to up was we what will "
        "with would you your",
    )
)


def wording(
    words: Asked,
    importance: NDArray[np.float32],
    presence: NDArray[np.float32],
    cosines: NDArray[np.float32],
) -> tuple[float, ...]:
    """What is said of a request beside one skill.

    Args:
        words: The words of the request.
        importance: Weight of each of its tokens, shape (t,).
        presence: What of them is present in the skill, shape (t, 4); see
            `router.local.presence.presence`.
        cosines: The best cosine of each token with one of the skill, shape (t,).

    Returns:
        Finite numbers, columns as in `WORDING_NAMES`; none is the request's length.
    """
    return (*_beside(words, importance, presence, cosines), *_alone(words))


def _beside(
    words: Asked,
    importance: NDArray[np.float32],
    presence: NDArray[np.float32],
    cosines: NDArray[np.float32],
) -> list[float]:
    within = words.tokens >= 0
    runs, count = words.tokens[within], len(words.common)
    summed = np.bincount(runs, weights=importance[within], minlength=count)
    total = float(summed.sum())
    if not total > 0.0:
        return [0.0] * len(WORD_NAMES)
    weight = summed / total
    like = np.ones(count)
    np.minimum.at(like, runs, cosines[within].clip(0.0, 1.0))
    front, anywhere = np.zeros(count), np.zeros(count)
    front[runs], anywhere[runs] = presence[within, 1], presence[within, 2]
    absent, rare = weight * (1.0 - anywhere), 1.0 - words.common
    heard = words.common > 0.0
    parts = np.stack(
        [
            absent,
            weight * (1.0 - front),
            absent * like,
            absent * (1.0 - like),
            absent * ~heard,
            absent * heard,
            weight * front * rare,
            weight * anywhere * rare,
        ]
    )
    numbers: list[float] = np.stack([parts.sum(axis=1), parts.max(axis=1)], axis=1).ravel().tolist()
    return numbers


def _alone(words: Asked) -> tuple[float, float, float]:
    runs = words.tokens[words.tokens >= 0]
    pieces = np.log(len(runs) / len(np.unique(runs))) if len(runs) else 0.0
    letters = [letter for letter in words.text if letter.isalpha()]
    foreign = sum(not letter.isascii() for letter in letters)
    said = _WORD.findall(words.text.lower())
    common = sum(word in _COMMON for word in said)
    return (float(pieces), foreign / max(len(letters), 1), common / max(len(said), 1))
