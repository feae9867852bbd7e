"""What an index of a large roster is asked: which skills are worth scoring in full."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

KINDS = ("document", "summary", "passage")
"""The vectors of a skill: of the whole, of name and description, and of the pieces of its body."""


@dataclass(frozen=True)
class Wanted:
    """A turn as an index sees it. A turn's score of a skill is the sum of

    * ``lexical[row]``;
    * for each text ``i`` and kind ``j``, ``weights[i] * slopes[j]`` times the cosine of
      ``vectors[i]`` with the skill's vector of that kind (for passages, its nearest one).

    Attributes:
        vectors: One unit vector a text (the request, then the recent context), shape (1 or 2, d).
        weights: How much each text counts, shape (1 or 2,), sum 1.
        slopes: What a cosine of each kind adds, in the order of `KINDS`, shape (3,).
        lexical: What the words add, shape (n,).
        eligible: Whether each skill may be named, shape (n,): it is in the roster, and the turn
            has the tools it requires.
        requirements: The sets of required tools that the turn satisfies, each as
            `requirement_key` writes it; None when every one is.
    """

    vectors: NDArray[np.float32]
    weights: NDArray[np.float32]
    slopes: NDArray[np.float32]
    lexical: NDArray[np.float32]
    eligible: NDArray[np.bool_]
    requirements: Sequence[str] | None = None


@runtime_checkable
class CandidateIndex(Protocol):
    """Finds the skills whose score is highest; thread-safe."""

    def candidates(self, wanted: Wanted, count: int) -> NDArray[np.int64]:
        """Rows of about `count` eligible skills, in no particular order.

        An index may miss a skill that it cannot see to be near; what it gives is scored in full.
        """
        ...


def requirement_key(tools: Sequence[str]) -> str:
    """A set of required tools as 32 hex digits, whatever their names hold; "" for none."""
    joined = "\n".join(sorted(set(tools)))
    return hashlib.sha256(joined.encode()).hexdigest()[:32] if joined else ""


def best(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Places of the `count` highest finite scores, in no particular order."""
    if len(scores) > count:
        places = np.argpartition(-scores, count - 1)[:count]
    else:
        places = np.arange(len(scores))
    return places[np.isfinite(scores[places])].astype(np.int64)
