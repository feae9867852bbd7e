"""What is known of the skills that a turn may be about, whatever index found them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from router.local.encoder import Encoder
from router.local.features import wide_features
from router.local.index import SkillIndex
from router.local.signals import Signals, compute_signals
from router.turn import Turn

if TYPE_CHECKING:
    from router.local.heads import Linear

LARGE = 2_000
"""Skills up to which every signal of every one is computed, from an index in memory."""


@dataclass(frozen=True)
class Look:
    """Signals and wide logits of c skills of a roster.

    Attributes:
        signals: The signals.
        logits: Logits of the wide rank, shape (c,).
        names: Names of the skills, shape (c,).
        rows: Row of each name that can be reread; all below the size of `index`.
        index: Index whose rows are the first of those skills.
    """

    signals: Signals
    logits: NDArray[np.float32]
    names: Sequence[str]
    rows: Mapping[str, int]
    index: SkillIndex


class Looker(Protocol):
    """A roster that can be looked at for a turn; thread-safe.

    Attributes:
        remembered: Turns whose looks may be kept: those of a large roster take a megabyte each.
    """

    remembered: int

    def look(self, turn: Turn, wide: Linear, also: Collection[str] = ()) -> Look:
        """Score the skills that the turn, which is not blank, may be about, and those of `also`."""
        ...


class Whole:
    """A roster of which every skill is looked at.

    Args:
        index: Its index.
        encoder: The encoder of the index.
    """

    remembered = 64

    def __init__(self, index: SkillIndex, encoder: Encoder) -> None:
        self._index, self._encoder = index, encoder
        self._rows = {name: row for row, name in enumerate(index.names)}

    def look(self, turn: Turn, wide: Linear, also: Collection[str] = ()) -> Look:
        """Score every skill; see `Looker.look`."""
        signals = compute_signals(turn, self._index, self._encoder)
        logits = wide(wide_features(signals.matrix))
        return Look(signals, logits, self._index.names, self._rows, self._index)
