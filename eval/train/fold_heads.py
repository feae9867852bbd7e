"""Heads learned without a part of the rosters, to see what the router does on unseen ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.train.crossval import FOLDS, folds
from eval.train.fits import FitExamples, learn_fits
from eval.train.fusion import learn_fusion
from eval.train.gate import GateExamples, learn_gate
from eval.train.prepare import Prepared
from router.local.features import FIT_NAMES
from router.local.heads import FitHead, Heads


@dataclass(frozen=True)
class Fits:
    """What fits are learned from, and their calibration.

    Attributes:
        examples: The candidates.
        groups: Group of each, shape (r,).
        scale: Slope and offset of the calibration (`eval.train.fits.platt`).
        columns: Names of the features.
    """

    examples: FitExamples
    groups: NDArray[np.str_]
    scale: Mapping[str, float]
    columns: tuple[str, ...] = FIT_NAMES

    def learn(self, seed: int, without: Sequence[str] = ()) -> FitHead:
        """Calibrated fits, from the candidates of all groups but some."""
        kept = ~np.isin(self.groups, list(without))
        head = learn_fits(self.examples.where(kept), seed, columns=self.columns)
        return head.model_copy(update=dict(self.scale))


def fold_heads(
    heads: Heads,
    prepared: Sequence[Prepared],
    gates: Mapping[str, GateExamples],
    fits: Fits,
    reread: Fits | None,
    seed: int,
) -> Iterator[tuple[list[str], Heads]]:
    """The same heads learned without each of five parts of the rosters.

    Fusion, gate and fits are learned from the turns of the other parts. What the fits read of those
    turns comes from first-level heads that knew this part, as in any stacking. The default
    thresholds and the two numbers that calibrate the fits are those of `heads`, which were chosen
    over all rosters, on held-out answers.

    Args:
        heads: The heads learned on all rosters.
        prepared: Full and thinned rosters with their signals.
        gates: Gate examples by group.
        fits: What the fits are learned from.
        reread: The same for the fits with a pair scorer, if `heads` has those.
        seed: Seed of the trees.

    Yields:
        The groups of a part, and heads that were learned without them.
    """
    for names in folds([one.group for one in prepared], FOLDS):
        second = None
        if reread is not None and heads.reread is not None:
            second = heads.reread.model_copy(update={"fits": reread.learn(seed, names)})
        known = heads.trained_on
        kept = {
            key: {group: digest for group, digest in value.items() if group not in names}
            for key, value in known.items()
            if isinstance(value, dict)
        }
        yield (
            names,
            heads.model_copy(
                update={
                    "wide": learn_fusion([one for one in prepared if one.group not in names]),
                    "gate": learn_gate(
                        GateExamples.joined([g for n, g in gates.items() if n not in names])
                    ),
                    "fits": fits.learn(seed, names),
                    "reread": second,
                    "trained_on": {**known, **kept},
                    "digest": "",
                }
            ),
        )
