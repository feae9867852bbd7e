"""Small rosters are answered bit for bit as by the plain formula the heads were learned with."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from roster import Roster
from router.index.look import LARGE
from router.local.encoder import load_encoder
from router.local.features import softmax
from router.local.index import build_index
from router.local.judge import LocalJudge
from router.local.signals import compute_signals
from router.turn import Turn

TURNS = (
    Turn(request="make a pull request from my branch"),
    Turn(request="and now in German", recent_context=("summarise this PDF for me", "done")),
    Turn(request="what is the capital of France?"),
)


def plain_logits(matrix: np.ndarray, weights: np.ndarray, bias: float) -> np.ndarray:
    """z-scores over the roster, the signals themselves, and gaps to the best, in one product."""
    spread = matrix.std(axis=0)
    z = (matrix - matrix.mean(axis=0)) / np.maximum(spread, 1e-6)
    z[:, spread <= 1e-6] = 0.0
    gap = matrix - matrix.max(axis=0, initial=0.0)
    features = np.concatenate([z, matrix, gap], axis=1).astype(np.float32)
    return np.add(features @ weights, bias, dtype=np.float32)


def test_a_small_roster_is_ranked_by_the_plain_formula(bundled: Roster, tmp_path: Path) -> None:
    assert len(bundled) <= LARGE
    roster = Roster.from_skills(list(bundled)[::7])
    encoder = load_encoder()
    judge = LocalJudge.load(roster, encoder, cache=tmp_path)
    index = build_index(roster, encoder)
    weights = np.array(judge.heads.wide.weights, dtype=np.float32)
    for turn in TURNS:
        matrix = compute_signals(turn, index, encoder).matrix
        logits = plain_logits(matrix, weights, judge.heads.wide.bias)
        order = np.argsort(-logits, kind="stable")
        chances = softmax(logits)
        ranking, _ = judge.rank(turn, roster)
        assert ranking.top(len(roster)) == tuple(index.names[row] for row in order)
        found = [p for _, p in ranking.entries]
        assert found == [min(1.0, float(chances[row])) for row in order]
    assert list(tmp_path.rglob("*.npz")) and not list(tmp_path.rglob("segment-*"))
