"""The learners: what is exported equals what was fitted, and it learns what is there."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from eval.data import LabelledTurn
from eval.train.crossval import HeldOut, folds, outcome
from eval.train.fits import exported, platt
from eval.train.fusion import learn_fusion
from eval.train.gate import GateExamples, learn_gate
from eval.train.heads import choose
from eval.train.prepare import prepare
from roster import Roster, Skill
from router.local.features import WIDE_NAMES
from tests.router.fakes import HashEncoder

TOPICS = ["kites", "bread", "chess", "boats", "roses", "clocks", "shoes", "drums"]


@pytest.fixture(scope="module")
def roster() -> Roster:
    return Roster.from_skills(
        Skill(name=f"{topic}-mend", description=f"All about {topic}", body=f"Work on {topic}.")
        for topic in TOPICS
    )


@pytest.fixture(scope="module")
def turns() -> list[LabelledTurn]:
    covered = [LabelledTurn(text=f"help with my {t}", gold=f"{t}-mend") for t in TOPICS]
    return [*covered, LabelledTurn(text="good morning", gold=None)]


def test_exported_trees_give_the_fitted_logits() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 5)).astype(np.float32)
    y = x[:, 0] * x[:, 1] > 0
    model = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=9).fit(x, y)
    trees = exported(model)
    assert trees(x) == pytest.approx(model.decision_function(x), abs=1e-3)


def test_thinned_rosters_lack_their_right_skill(roster: Roster, turns: list[LabelledTurn]) -> None:
    full, *thinned = prepare("toys", roster, turns, HashEncoder(), thinned=4)
    assert len(full.index) == len(TOPICS) and not full.left_out.any()
    assert len(thinned) == 4
    gone = [
        turn.gold
        for one in thinned
        for turn, out in zip(one.turns, one.left_out, strict=True)
        if out
    ]
    assert sorted(filter(None, gone)) == sorted(f"{topic}-mend" for topic in TOPICS)
    for one in thinned:
        assert len(one.index) == len(TOPICS) - 2
        for turn, row in zip(one.turns, one.gold, strict=True):
            assert row == -1 or one.index.names[row] == turn.gold


def test_fusion_learns_to_rank(roster: Roster, turns: list[LabelledTurn]) -> None:
    prepared = prepare("toys", roster, turns, HashEncoder(), thinned=2)
    fusion = learn_fusion(prepared)
    assert fusion.columns == WIDE_NAMES
    from router.local.features import wide_features

    for signals, gold in zip(prepared[0].signals, prepared[0].gold, strict=True):
        if gold >= 0:
            assert int(np.argmax(fusion(wide_features(signals.matrix)))) == gold


def test_the_gate_learns_three_answers() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(300, 6)).astype(np.float32)
    answers = vectors[:, :3] > 0
    gate = learn_gate(GateExamples(vectors, answers))
    found = np.array([gate(vector) for vector in vectors]) > 0.5
    assert (found == answers).mean() > 0.95


def test_platt_recovers_a_known_scale() -> None:
    rng = np.random.default_rng(2)
    logits = rng.normal(size=20_000).astype(np.float32) * 2
    labels = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))
    scale = platt(logits, labels, np.ones(20_000, dtype=np.float32))
    assert scale["slope"] == pytest.approx(0.5, abs=0.05)
    assert scale["offset"] == pytest.approx(-1, abs=0.05)


def test_folds_never_cut_a_group() -> None:
    parts = folds(["b", "a", "c", "a"], 2)
    assert sorted(name for part in parts for name in part) == ["a", "b", "c"]


HELD = HeldOut(
    need=np.array([0.9, 0.9, 0.2, 0.9]),
    rank=np.array([0, 1, 0, -1]),
    fits=np.array([[0.8, 0.1], [0.6, 0.5], [0.9, 0.1], [0.4, 0.2]]),
    right=np.array([0, 1, 0, -1]),
    covered=np.array([True, True, True, False]),
    kinds=np.array(["covered"] * 3 + ["meta"]),
)


def test_thresholds_are_applied_as_the_router_does() -> None:
    reached = outcome(HELD, gate=0.5, fit=0.5, shortlist=2)
    assert (reached.right, reached.wrong, reached.silent) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert reached.needless == 0
    assert outcome(HELD, gate=0.0, fit=0.0, shortlist=2).needless == 1


def test_the_chosen_thresholds_keep_the_bound() -> None:
    gate, fit, reached = choose(HELD, needless_at_most=0.0, shortlist=2)
    assert reached.needless == 0 and reached.right == pytest.approx(2 / 3)
    assert fit > 0.4 and gate <= 0.2
