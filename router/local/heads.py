"""The learned numbers of the local judge, and how they are applied."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from router.errors import WeightsError
from router.local.features import FIT_NAMES, REREAD_NAMES, WIDE_NAMES
from router.local.trees import Trees
from router.thresholds import Thresholds

FOLDER = Path(__file__).parent / "weights"

Floats = NDArray[np.float32]


class Linear(BaseModel):
    """A linear function of named columns.

    Attributes:
        columns: Names of the columns, in order.
        weights: One weight a column.
        bias: Added to the sum.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float = 0.0

    @cached_property
    def vector(self) -> Floats:
        """The weights as an array."""
        return np.array(self.weights, dtype=np.float32)

    def __call__(self, matrix: Floats) -> Floats:
        """The function of every row, shape (rows,)."""
        products = matrix @ self.vector
        sums: Floats = np.add(products, self.bias, dtype=np.float32)
        return sums


class GateHead(BaseModel):
    """Three logistic regressions on the request's vector.

    Attributes:
        weights: Shape (3, d).
        bias: Shape (3,).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    weights: tuple[tuple[float, ...], ...] = Field(min_length=3, max_length=3)
    bias: tuple[float, float, float]

    @cached_property
    def matrix(self) -> Floats:
        """The weights as an array; making one of so many numbers takes longer than its product."""
        return np.array(self.weights, dtype=np.float32)

    def __call__(self, vector: Floats) -> Floats:
        """Three probabilities: acts on the system, documented procedure, prose suffices."""
        logits = self.matrix @ vector + np.array(self.bias)
        chances: Floats = np.divide(1.0, 1.0 + np.exp(-logits), dtype=np.float32)
        return chances


class FitHead(BaseModel):
    """Boosted trees and a linear function of the same columns, mixed and calibrated.

    Attributes:
        columns: Names of the columns.
        trees: The trees.
        linear: The linear function; its columns are standardized inside its weights.
        mix: Share of the trees in the logit, 0..1.
        slope: Calibration (Platt 1999): the logit is multiplied by it.
        offset: Calibration: then this is added.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[str, ...]
    trees: Trees
    linear: Linear
    mix: float = Field(ge=0.0, le=1.0)
    slope: float
    offset: float

    def logits(self, matrix: Floats) -> Floats:
        """Calibrated logits of the rows, shape (rows,)."""
        raw = self.mix * self.trees(matrix) + (1.0 - self.mix) * self.linear(matrix)
        return (self.slope * raw + self.offset).astype(np.float32)


class RereadHead(BaseModel):
    """Fits that a pair scorer takes part in.

    Attributes:
        scorer: Name of the pair scorer these were learned with.
        scorer_digest: Its digest.
        fits: The fits.
        thresholds: Default thresholds of these fits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scorer: str
    scorer_digest: str
    fits: FitHead
    thresholds: dict[str, float]


class Heads(BaseModel):
    """Everything learned that comes after the signals.

    Attributes:
        encoder: Name of the encoder these were learned with.
        encoder_digest: Its digest.
        wide: Fusion for the wide rank.
        gate: The gate.
        fits: The fits.
        thresholds: Default thresholds: gate, fit, shortlist, excerpt.
        reread: The fits to use instead when a pair scorer reads the shortlist.
        trained_on: Digests of what they were learned on.
        digest: SHA-256 (hex) of the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder: str
    encoder_digest: str
    wide: Linear
    gate: GateHead
    fits: FitHead
    thresholds: dict[str, float]
    reread: RereadHead | None = None
    trained_on: dict[str, Any]
    digest: str = ""

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read the learned numbers.

        Raises:
            WeightsError: If the file is missing, damaged, or was made for other features.
        """
        path = Path(path).expanduser()
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise WeightsError(
                f"{path}: cannot be read ({error.strerror}); make it with skill-router train heads"
            ) from error
        return cls.from_bytes(raw, str(path))

    @classmethod
    def from_bytes(cls, raw: bytes, path: str) -> Self:
        """The learned numbers of a file's bytes.

        Args:
            raw: The bytes.
            path: Where they are from, for errors.

        Raises:
            WeightsError: If they are damaged, or were made for other features.
        """
        try:
            heads = cls.model_validate(
                {**json.loads(raw), "digest": hashlib.sha256(raw).hexdigest()}
            )
        except (TypeError, ValueError, ValidationError, RecursionError) as error:
            reason = str(error).splitlines()[0]
            raise WeightsError(
                f"{path}: is not a heads file ({reason}); make it with skill-router train heads"
            ) from error
        heads._check(path)
        if (
            heads.wide.columns != WIDE_NAMES
            or heads.fits.columns != FIT_NAMES
            or (heads.reread and heads.reread.fits.columns != REREAD_NAMES)
        ):
            raise WeightsError(
                f"{path}: was learned on other features than this version computes; "
                "make it anew with skill-router train heads"
            )
        return heads

    def _check(self, path: str | Path) -> None:
        """Raise when the numbers do not fit together: better now than on every turn.

        Raises:
            WeightsError: If a length is wrong, a number is not finite, or a threshold is unusable.
        """
        fits = (
            len(self.wide.columns) == len(self.wide.weights)
            and len({len(row) for row in self.gate.weights}) == 1
            and _finite((*self.wide.weights, self.wide.bias, *self.gate.bias))
            and all(_finite(row) for row in self.gate.weights)
            and all(_usable(head) for head in self._fit_heads())
        )
        if not fits:
            raise WeightsError(
                f"{path}: its numbers do not fit together; make it with skill-router train heads"
            )
        try:
            for thresholds in (self.thresholds, *([self.reread.thresholds] if self.reread else [])):
                Thresholds.model_validate(thresholds)
        except ValidationError as error:
            raise WeightsError(
                f"{path}: thresholds: {error.errors()[0]['msg']}; make it with skill-router train "
                "heads"
            ) from error

    def _fit_heads(self) -> list[FitHead]:
        return [self.fits, *([self.reread.fits] if self.reread else [])]


def _usable(head: FitHead) -> bool:
    trees = head.trees
    return (
        len(head.linear.columns) == len(head.linear.weights)
        and head.linear.columns == head.columns
        and max(trees.feature, default=0) < len(head.columns)
        and 0 < trees.depth < 64
        and _finite((*head.linear.weights, head.linear.bias))
        and _finite((head.slope, head.offset, trees.base, *trees.value))
    )


def _finite(values: Iterable[float]) -> bool:
    return all(math.isfinite(value) for value in values)


def heads_for(
    encoder_name: str, encoder_digest: str, path: str | Path | Heads | None = None
) -> Heads:
    """The learned numbers for an encoder.

    Args:
        encoder_name: Its name.
        encoder_digest: Its digest.
        path: A heads file to use, or heads already read; None looks among the shipped ones.

    Raises:
        WeightsError: If there is none for it: signals of another encoder have another scale, so
            borrowed fits would mean nothing.
    """
    if path is not None:
        heads = path if isinstance(path, Heads) else Heads.from_file(path)
        if heads.encoder_digest != encoder_digest:
            raise WeightsError(
                f"{_place(path)}: was learned with the encoder {heads.encoder!r}, not "
                f"{encoder_name!r}; run skill-router train heads --encoder {encoder_name}"
            )
        return heads
    for file in sorted(FOLDER.glob("heads-*.json")):
        # Only the right file is worth parsing in full: a cold process waits for this.
        if encoder_digest.encode() in file.read_bytes():
            heads = Heads.from_file(file)
            if heads.encoder_digest == encoder_digest:
                return heads
    raise WeightsError(
        f"no gate and fits were learned for the encoder {encoder_name!r}; run "
        f"skill-router train heads --encoder {encoder_name} --out heads.json, then load with "
        "heads='heads.json'"
    )


def _place(path: str | Path | Heads) -> str:
    return f"heads {path.digest[:12]}" if isinstance(path, Heads) else str(path)


def shipped_heads(encoder_digest: str) -> Path:
    """The shipped heads file of an encoder.

    Raises:
        WeightsError: If there is none.
    """
    for file in sorted(FOLDER.glob("heads-*.json")):
        if Heads.from_file(file).encoder_digest == encoder_digest:
            return file
    raise WeightsError("no heads are shipped for this encoder; give --heads")
