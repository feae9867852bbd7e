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
            np.array(self.roots, dtype=np.intp),
            np.array(self.feature, dtype=np.intp),
            np.array(self.threshold, dtype=np.float32),
            # Both children side by side, so that one look-up takes a step.
            np.stack([self.right, self.left], axis=1).astype(np.intp).ravel(),
            np.array(self.value, dtype=np.float32),
        )
        return self

    def __call__(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum over all trees for every row, shape (rows,)."""
        roots, feature, threshold, children, value = self._arrays
        columns = matrix.shape[1]
        flat = np.ascontiguousarray(matrix).ravel()
        row = (np.arange(len(matrix)) * columns)[:, None]
        node = np.broadcast_to(roots, (len(matrix), len(roots)))
        for _ in range(self.depth):
            goes_left = flat.take(row + feature.take(node)) <= threshold.take(node)
            node = children.take(2 * node + goes_left)
        sums: NDArray[np.float32] = value.take(node).sum(axis=1, dtype=np.float32) + self.base
        return sums
