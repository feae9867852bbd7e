"""What the encoder makes of one skill, and how it is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roster import Skill
from router.local.encoder import DOCUMENT_TOKENS, Encoder
from router.local.text import document, passages, summary

Progress = Callable[[int, int], None]
"""Called with the number of skills done and the number of skills."""

_GROUP = 32


@dataclass(frozen=True)
class SkillVectors:
    """Vectors of one skill.

    Attributes:
        document: Name, description and start of the body, float32, shape (d,).
        summary: Name and description, float32, shape (d,).
        passages: Pieces of the body, float32, shape (p, d), p >= 1.
        tokens: Token vectors of the document, int8, 127 standing for 1, shape (t, k).
    """

    document: NDArray[np.float32]
    summary: NDArray[np.float32]
    passages: NDArray[np.float32]
    tokens: NDArray[np.int8]


def quantize(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Unit vectors as int8; a product of two loses about 0.002."""
    scaled: NDArray[np.int8] = np.rint(np.clip(vectors, -1.0, 1.0) * 127.0).astype(np.int8)
    return scaled


def encode_skills(
    encoder: Encoder, skills: Sequence[Skill], progress: Progress | None = None
) -> list[SkillVectors]:
    """Encode skills, a group at a time.

    Args:
        encoder: The encoder.
        skills: The skills.
        progress: Told after every group.

    Returns:
        Vectors in the order of `skills`.
    """
    found: list[SkillVectors] = []
    for start in range(0, len(skills), _GROUP):
        group = skills[start : start + _GROUP]
        pieces = [passages(skill) for skill in group]
        texts = [document(skill) for skill in group] + [summary(skill) for skill in group]
        texts += [piece for per_skill in pieces for piece in per_skill]
        encoded = encoder.encode(texts, DOCUMENT_TOKENS)
        at = 2 * len(group)
        for i, per_skill in enumerate(pieces):
            found.append(
                SkillVectors(
                    document=encoded.pooled[i],
                    summary=encoded.pooled[len(group) + i],
                    passages=encoded.pooled[at : at + len(per_skill)],
                    tokens=quantize(encoded.tokens[i]),
                )
            )
            at += len(per_skill)
        if progress is not None:
            progress(len(found), len(skills))
    return found
