"""Which skills of a large collection are alike, but not the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roster import Skill

NEAREST = 60
"""Most alike skills that are looked at."""
MOST = 16
"""Most look-alikes kept for a skill."""
ALIKE = (0.12, 0.55)
"""TF-IDF cosines between which two skills are alike; above, they are copies of each other."""
_BLOCK = 512


def look_alikes(skills: Sequence[Skill]) -> list[tuple[int, ...]]:
    """For each skill the rows of at most `MOST` others like it, most alike first.

    Args:
        skills: The skills; names need not be distinct.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [f"{s.name.replace('-', ' ')} {s.description} {s.body[:1000]}" for s in skills]
    try:
        matrix = TfidfVectorizer(
            sublinear_tf=True, stop_words="english", min_df=2, max_df=0.2
        ).fit_transform(texts)
    except ValueError:  # too few skills for any word to be neither rare nor common
        return [() for _ in skills]
    found: list[tuple[int, ...]] = []
    for start in range(0, len(skills), _BLOCK):
        for row in (matrix[start : start + _BLOCK] @ matrix.T).toarray():
            nearest = np.argpartition(-row, min(NEAREST, len(row) - 1))[:NEAREST]
            nearest = nearest[np.argsort(-row[nearest], kind="stable")]
            alike = [int(j) for j in nearest if ALIKE[0] < row[j] < ALIKE[1]]
            found.append(tuple(alike[:MOST]))
    return found
