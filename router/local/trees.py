"""Boosted regression trees as arrays, evaluated for a few rows at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator


class Trees(BaseModel):
    """An additive ensemble of binary trees.

    All trees stand in the same flat arrays; a leaf's children are itself.

    Attributes:
        roots: First node of each tree.
        feature: Column each node looks at.
        threshold: A row goes left when its value is at most this.
        left: Node for the rows that go left.
        right: Node for the others.
        value: What a leaf adds.
        base: What every row starts with.
        depth: Steps from a root to its deepest leaf.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    roots: tuple[int, ...]
    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]
    base: float
    depth: int

    _arrays: tuple[NDArray[np.generic], ...] = PrivateAttr()

    @model_validator(mode="after")
    def _consistent(self) -> Trees:
        count = len(self.feature)
        if not all(
            len(part) == count for part in (self.threshold, self.left, self.right, self.value)
        ):
            raise ValueError("the node arrays differ in length")
        nodes = (*self.roots, *self.left, *self.right)
        if any(not 0 <= node < count for node in nodes) or any(f < 0 for f in self.feature):
            raise ValueError("a node points outside the arrays")
        if not 0 <= self.depth <= count:
            raise ValueError("the trees are deeper than they have nodes")
        self._arrays = (
            np.array(self.roots, dtype=np.int32),
            np.array(self.feature, dtype=np.int32),
            np.array(self.threshold, dtype=np.float32),
            np.array(self.left, dtype=np.int32),
            np.array(self.right, dtype=np.int32),
            np.array(self.value, dtype=np.float32),
        )
        return self

    def __call__(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum over all trees for every row, shape (rows,)."""
        roots, feature, threshold, left, right, value = self._arrays
        rows = np.arange(len(matrix))[:, None]
        node = np.broadcast_to(roots, (len(matrix), len(roots)))
        for _ in range(self.depth):
            goes_left = matrix[rows, feature[node]] <= threshold[node]
            node = np.where(goes_left, left[node], right[node])
        sums: NDArray[np.float32] = value[node].sum(axis=1, dtype=np.float32) + self.base
        return sums
