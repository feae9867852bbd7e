"""Learning the fits: is this candidate what the request asks for, or only near it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from eval.train.prepare import Prepared
from router.local.excerpt import Reader
from router.local.features import FIT_NAMES, fit_features, wide_features
from router.local.heads import FitHead, GateHead, Linear
from router.local.judge import POOL
from router.local.pair_scorer import PairScorer
from router.local.pair_text import pair_input
from router.local.trees import Trees

READ = 3
"""Candidates of a turn that the pair scorer reads: the default shortlist."""

LEFT_OUT_WEIGHT = 0.5
"""A turn whose right skill was taken away counts less: a twin that is left may serve it too."""


@dataclass(frozen=True)
class FitExamples:
    """Candidates of turns, a row each, the candidates of a turn together.

    Attributes:
        features: Shape (r, f), columns as in `FIT_NAMES`.
        labels: Whether the candidate is the right skill, shape (r,).
        weights: Shape (r,).
        turn: Number of the turn each row belongs to, shape (r,).
        pairs: Logit of the pair scorer, NaN where it has not read the pair, shape (r,).
    """

    features: NDArray[np.float32]
    labels: NDArray[np.bool_]
    weights: NDArray[np.float32]
    turn: NDArray[np.int64]
    pairs: NDArray[np.float32]

    def where(self, keep: NDArray[np.bool_]) -> FitExamples:
        """The rows that are kept."""
        return FitExamples(
            self.features[keep],
            self.labels[keep],
            self.weights[keep],
            self.turn[keep],
            self.pairs[keep],
        )


def joined(parts: Sequence[FitExamples]) -> FitExamples:
    """All parts as one; their turn numbers are left as they are."""
    return FitExamples(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.turn for part in parts]),
        np.concatenate([part.pairs for part in parts]),
    )


def fit_examples(
    prepared: Sequence[Prepared],
    fusion: Linear,
    gate: GateHead,
    scorers: Mapping[str, PairScorer] | None = None,
) -> FitExamples:
    """The best candidates of every turn, as the reread will see them.

    Args:
        prepared: Rosters with the signals of their turns.
        fusion: The wide rank.
        gate: The gate.
        scorers: Pair scorer of each group; it reads the first `READ` candidates of each turn.
    """
    features, labels, weights, numbers, pairs = [], [], [], [], []
    number, reader = 0, Reader()
    for one in prepared:
        for turn, signals, vector, gold, left_out in zip(
            one.turns, one.signals, one.vectors, one.gold, one.left_out, strict=True
        ):
            logits = fusion(wide_features(signals.matrix))
            pool = np.argsort(-logits, kind="stable")[:POOL]
            candidates = [one.skills[row] for row in pool]
            rows = fit_features(
                signals, logits, gate(vector), pool, candidates, one.index, reader=reader
            )
            features.append(rows)
            labels.append(pool == gold)
            weights.append(np.full(len(pool), LEFT_OUT_WEIGHT if left_out else 1.0))
            numbers.append(np.full(len(pool), number))
            number += 1
            scores = np.full(len(pool), np.nan, dtype=np.float32)
            if scorers is not None:
                read = pool[:READ]
                text = turn.turn().request_text
                scores[:READ] = scorers[one.group].score(
                    pair_input(text, signals, one.index, read, candidates[:READ], reader)
                )
            pairs.append(scores)
    return FitExamples(
        np.concatenate(features),
        np.concatenate(labels),
        np.concatenate(weights).astype(np.float32),
        np.concatenate(numbers),
        np.concatenate(pairs),
    )


def learn_fits(
    examples: FitExamples,
    seed: int = 0,
    mix: float = 0.6,
    rounds: int = 160,
    columns: tuple[str, ...] = FIT_NAMES,
) -> FitHead:
    """Fit trees and a logistic regression on the same columns, and mix their logits.

    Args:
        examples: The candidates.
        seed: Seed of the trees.
        mix: Share of the trees in the logit.
        rounds: Number of trees.
        columns: Names of the features.

    Returns:
        The fits, not yet calibrated (slope 1, offset 0).
    """
    trees = HistGradientBoostingClassifier(
        learning_rate=0.06,
        max_iter=rounds,
        max_leaf_nodes=15,
        min_samples_leaf=60,
        l2_regularization=5.0,
        max_features=0.4,
        early_stopping=False,
        random_state=seed,
    )
    trees.fit(examples.features, examples.labels, sample_weight=examples.weights)
    scaler = StandardScaler().fit(examples.features)
    logistic = LogisticRegression(C=0.05, max_iter=3000)
    logistic.fit(
        scaler.transform(examples.features), examples.labels, sample_weight=examples.weights
    )
    slopes = logistic.coef_[0] / scaler.scale_
    linear = Linear(
        columns=columns,
        weights=tuple(slopes.tolist()),
        bias=float(logistic.intercept_[0] - slopes @ scaler.mean_),
    )
    return FitHead(
        columns=columns, trees=exported(trees), linear=linear, mix=mix, slope=1.0, offset=0.0
    )


def platt(
    logits: NDArray[np.float32], labels: NDArray[np.bool_], weights: NDArray[np.float32]
) -> dict[str, float]:
    """Slope and offset that turn logits into calibrated ones (Platt 1999)."""
    model = LogisticRegression(C=1e4).fit(logits[:, None], labels, sample_weight=weights)
    return {"slope": float(model.coef_[0, 0]), "offset": float(model.intercept_[0])}


def exported(model: HistGradientBoostingClassifier) -> Trees:
    """The trees of a fitted model as plain arrays."""
    roots: list[int] = []
    columns: dict[str, list[Any]] = {
        key: [] for key in ("feature", "threshold", "left", "right", "value")
    }
    deepest = 1
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        offset = len(columns["feature"])
        roots.append(offset)
        own = np.arange(len(nodes)) + offset
        leaf = nodes["is_leaf"].astype(bool)
        columns["feature"] += np.where(leaf, 0, nodes["feature_idx"]).tolist()
        columns["threshold"] += _at_most(np.where(leaf, 0.0, nodes["num_threshold"]))
        columns["left"] += np.where(leaf, own, nodes["left"] + offset).tolist()
        columns["right"] += np.where(leaf, own, nodes["right"] + offset).tolist()
        columns["value"] += [round(float(v), 6) for v in np.where(leaf, nodes["value"], 0.0)]
        deepest = max(deepest, int(nodes["depth"].max()))
    base = float(np.ravel(model._baseline_prediction)[0])
    return Trees(roots=tuple(roots), base=base, depth=deepest, **columns)  # type: ignore[arg-type]


def _at_most(thresholds: NDArray[np.float64]) -> list[float]:
    """The largest float32 not above each threshold: rows are float32 and are compared as such."""
    single = thresholds.astype(np.float32)
    below = np.nextafter(single, np.float32(-np.inf))
    return [float(t) for t in np.where(single.astype(np.float64) > thresholds, below, single)]
