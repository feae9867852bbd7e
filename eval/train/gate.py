"""Learning the gate: three logistic regressions on the request's vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from router.local.heads import GateHead


@dataclass(frozen=True)
class GateExamples:
    """Requests with their three answers.

    Attributes:
        vectors: Request vectors, recent context mixed in, shape (m, d).
        answers: Acts, procedure, prose; shape (m, 3).
    """

    vectors: NDArray[np.float32]
    answers: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: Sequence[GateExamples]) -> GateExamples:
        """All parts as one."""
        return cls(
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([part.answers for part in parts]),
        )


def learn_gate(examples: GateExamples, strength: float = 4.0) -> GateHead:
    """Fit the three heads.

    Args:
        examples: Labelled requests.
        strength: Inverse of the L2 penalty.

    Returns:
        The gate.
    """
    weights, bias = [], []
    for column in range(3):
        model = LogisticRegression(C=strength, max_iter=2000)
        model.fit(examples.vectors, examples.answers[:, column])
        weights.append(tuple(model.coef_[0].round(5).tolist()))
        bias.append(float(model.intercept_[0].round(5)))
    return GateHead(weights=tuple(weights), bias=(bias[0], bias[1], bias[2]))
