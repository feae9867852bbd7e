"""Tuning: the sweep counts what the router does, and a gain must survive on other requests."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.data import LabelledTurn, requests_digest
from eval.tune import (
    AgentEffects,
    Grid,
    NeedlessAtMost,
    Outcome,
    TuneError,
    WeightedCost,
    collect,
    disagreements,
    pareto_front,
    read_outputs,
    sweep,
    thresholds_file,
    tune,
    write_outputs,
)
from eval.tune.choose import decide, grouped_folds, skill_groups
from eval.tune.plot import plot_front
from eval.tune.stages import StageOutputs
from roster import Roster
from router import Router, Thresholds
from tests.eval.table_judge import TableJudge, random_case, skills

CURRENT = Thresholds(gate=0.3, fit=0.3, shortlist=3)
COST = WeightedCost.from_effects()


def outputs_of(seed: int, count: int, signal: float = 1.0, shortlist: int = 5) -> StageOutputs:
    roster, judge, turns = random_case(seed, count, signal=signal)
    return collect(Router(roster, judge), turns, shortlist, (700,))


@pytest.fixture(scope="module")
def stored() -> tuple[Router, StageOutputs]:
    roster, judge, turns = random_case(1, 120)
    router = Router(roster, judge, CURRENT)
    return router, collect(router, turns, 5, (700,))


@settings(max_examples=40, deadline=None)
@given(gate=st.floats(0, 1), fit=st.floats(0, 1), shortlist=st.integers(1, 5))
def test_stored_outputs_decide_as_the_router_does(
    stored: tuple[Router, StageOutputs], gate: float, fit: float, shortlist: int
) -> None:
    router, outputs = stored
    thresholds = Thresholds(gate=gate, fit=fit, shortlist=shortlist)
    assert disagreements(outputs, router, thresholds) == 0


@settings(max_examples=40, deadline=None)
@given(point=st.tuples(st.just(0), st.integers(0, 3), st.integers(0, 20), st.integers(0, 20)))
def test_every_point_of_the_sweep_counts_the_decisions(
    stored: tuple[Router, StageOutputs], point: tuple[int, int, int, int]
) -> None:
    _, outputs = stored
    grid = Grid.around(CURRENT, outputs, (1, 2, 3, 5), step=0.05)
    counts = sweep(outputs, grid)
    picks = outputs.picks(grid.at(point))
    gold = [turn.gold for turn in outputs.turns]
    pairs = list(zip(picks, gold, strict=True))
    assert counts.right[point] == sum(p == g for p, g in pairs if g)
    assert counts.wrong[point] == sum(p is not None and p != g for p, g in pairs if g)
    assert counts.silent[point] == sum(p is None for p, g in pairs if g)
    assert counts.needless[point] == sum(p is not None for p, g in pairs if g is None)


def test_ten_thousand_pairs_for_700_requests_take_seconds() -> None:
    outputs = outputs_of(2, 700)
    started = perf_counter()
    result = tune(outputs, CURRENT, COST)
    assert result.gate_fit_pairs >= 10_000
    assert result.requests == 700
    assert perf_counter() - started < 5.0


def test_the_current_thresholds_are_among_the_points() -> None:
    outputs = outputs_of(3, 80)
    odd = Thresholds(gate=0.123, fit=0.456, shortlist=4)
    grid = Grid.around(odd, outputs, (1, 2))
    assert 0.123 in grid.gates and 0.456 in grid.fits and 4 in grid.shortlists


def test_a_real_gain_survives_and_is_measured_on_other_requests() -> None:
    outputs = outputs_of(4, 400, signal=1.2)
    result = tune(outputs, Thresholds(gate=0.9, fit=0.95, shortlist=1), COST)
    assert result.verdict.outcome is Outcome.SURVIVES
    assert result.scores_chosen.loss <= result.scores_held_out.loss < result.scores_current.loss
    assert result.loss_p < 0.01
    assert result.paired_all.only_first > result.paired_all.only_second


def test_noise_never_passes_for_a_gain() -> None:
    """Scores without information: the best of thousands of points looks good, and is not."""
    survived = 0
    for seed in range(8):
        outputs = outputs_of(seed + 10, 160, signal=0.0)
        silent = Thresholds(gate=1.0, fit=1.0, shortlist=1)
        current = tune(outputs, silent, COST).chosen
        result = tune(outputs, current, COST, seed=seed + 1)
        assert result.scores_chosen.loss <= result.scores_held_out.loss + 1e-9
        survived += result.verdict.outcome is Outcome.SURVIVES
    assert survived == 0


def test_the_same_thresholds_are_called_the_same() -> None:
    outputs = outputs_of(5, 200, signal=6.0)
    chosen = tune(outputs, CURRENT, COST).chosen
    assert tune(outputs, chosen, COST).verdict.outcome is Outcome.SAME


def test_costs_default_to_the_recorded_effects() -> None:
    assert (COST.wrong, COST.silent, COST.needless) == pytest.approx((0.65, 0.28, 0.186))
    careless = WeightedCost.from_effects(AgentEffects(needless=0.01, quiet=0.014))
    assert careless.needless == 0.0


@given(share=st.one_of(st.none(), st.floats(0.05, 0.95)), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_mean_loss_of_turns_is_the_loss_of_the_point(share: float | None, seed: int) -> None:
    outputs = outputs_of(seed, 40)
    grid = Grid.around(CURRENT, outputs, (1, 3), step=0.25)
    objective = WeightedCost.from_effects(covered_share=share)
    for point in ((0, 0, 1, 2), (0, 1, 2, 1)):
        decisions = decide(outputs, grid.at(point))
        losses = objective.loss(decisions.right, decisions.spoke, decisions.covered)
        assert losses.mean() == pytest.approx(objective.losses(sweep(outputs, grid))[point])


def test_dearer_needless_suggestions_make_it_quieter() -> None:
    outputs = outputs_of(6, 300)
    cheap = tune(outputs, CURRENT, COST.model_copy(update={"needless": 0.01}))
    dear = tune(outputs, CURRENT, COST.model_copy(update={"needless": 5.0}))
    assert dear.scores_chosen.needless.value < cheap.scores_chosen.needless.value


@pytest.mark.parametrize("bound", [0.0, 0.02, 0.1, 0.5])
def test_a_bound_holds_where_it_was_chosen_and_more_room_gives_more_right(bound: float) -> None:
    outputs = outputs_of(7, 300)
    tight = tune(outputs, CURRENT, NeedlessAtMost(bound=bound))
    loose = tune(outputs, CURRENT, NeedlessAtMost(bound=min(1.0, bound + 0.2)))
    assert tight.scores_chosen.needless.value <= bound + 1e-9
    assert loose.scores_chosen.right.value >= tight.scores_chosen.right.value


def test_a_bound_that_cannot_be_kept_is_said() -> None:
    roster = skills(6)
    turns = [
        LabelledTurn(text=f"r{i}", gold=roster.names[i % 6] if i % 2 else None) for i in range(24)
    ]
    certain = dict.fromkeys((turn.text for turn in turns), 1.0)
    order = {turn.text: list(roster.names) for turn in turns}
    judge = TableJudge(certain, order, lambda *_: 1.0)
    outputs = collect(Router(roster, judge), turns, 3, (700,))
    with pytest.raises(TuneError, match=r"least share that can be had is 100\.0%"):
        tune(outputs, CURRENT, NeedlessAtMost(bound=0.1), folds=2)


def test_no_skill_is_in_two_folds_and_near_misses_go_with_their_skill() -> None:
    turns = (
        [LabelledTurn(text=f"c{i}", gold=f"skill-{i % 9}") for i in range(45)]
        + [LabelledTurn(text=f"n{i}", gold=None, near=f"skill-{i % 9}") for i in range(20)]
        + [LabelledTurn(text=f"u{i}", gold=None) for i in range(20)]
    )
    groups = skill_groups(turns)
    folds = grouped_folds(turns, 4, seed=3)
    assert sorted(np.concatenate(folds).tolist()) == list(range(85))
    in_fold = [{groups[row] for row in fold} for fold in folds]
    for i, one in enumerate(in_fold):
        assert all(not one & other for other in in_fold[i + 1 :])


def test_too_few_skills_for_the_folds_is_said() -> None:
    turns = [LabelledTurn(text="a", gold="x"), LabelledTurn(text="b", gold=None)]
    with pytest.raises(TuneError, match="1 skills with requests and 1 uncovered"):
        grouped_folds(turns, 5, 0)


def test_the_excerpt_is_swept_when_the_judge_reads_it() -> None:
    roster, table, turns = random_case(8, 160, signal=1.0)
    blind = table.fit

    def fit(text: str, name: str, excerpt: int) -> float:
        right = next(t.gold for t in turns if t.text == text) == name
        return (0.95 if right else 0.05) if excerpt >= 400 else blind(text, name, excerpt)

    judge = TableJudge(table.need, table.order, fit, excerpt=0)
    current = Thresholds(gate=0.3, fit=0.5, shortlist=3, excerpt=0)
    router = Router(roster, judge, current)
    outputs = collect(router, turns, 3, (0, 400))
    assert outputs.excerpt_matters
    result = tune(outputs, current, COST)
    assert result.chosen.excerpt == 400
    assert disagreements(outputs, router, result.chosen) == 0
    assert judge.excerpt == 0, "the router's own judge stays as it was"


def test_the_excerpt_is_left_alone_when_the_judge_does_not_read_it() -> None:
    roster, judge, turns = random_case(9, 40)
    outputs = collect(Router(roster, judge), turns, 3, (700, 0, 1400))
    assert not outputs.excerpt_matters
    assert outputs.fits.shape == (1, 40, 3)
    assert tune(outputs, CURRENT, COST, folds=2).chosen.excerpt == CURRENT.excerpt


def test_each_turn_is_asked_once_however_many_points_there_are() -> None:
    roster, judge, turns = random_case(9, 60)
    outputs = collect(Router(roster, judge), turns, 5, (700,))
    tune(outputs, CURRENT, COST, folds=3)
    assert judge.reread_calls == 60


def test_a_failing_judge_stops_the_tuning() -> None:
    roster, judge, turns = random_case(9, 12)
    del judge.need["request 7"]
    with pytest.raises(TuneError, match="no answer for the request 'request 7'"):
        collect(Router(roster, judge), turns, 3, (700,))


def test_an_empty_roster_is_refused() -> None:
    _, judge, turns = random_case(9, 12)
    with pytest.raises(TuneError, match="no skills"):
        collect(Router(Roster.from_skills([]), judge), turns, 3, (700,))


def test_the_front_rises_and_no_point_beats_it() -> None:
    outputs = outputs_of(11, 200)
    grid = Grid.around(CURRENT, outputs, (1, 3, 5), step=0.05)
    counts = sweep(outputs, grid)
    front = pareto_front(counts, grid)
    needless = [point.needless for point in front]
    right = [point.right for point in front]
    assert needless == sorted(set(needless)) and right == sorted(set(right))
    for x, y in zip(
        (counts.needless / counts.uncovered).ravel(), (counts.right / counts.covered).ravel(),
        strict=True,
    ):  # fmt: skip
        assert max(r for n, r in zip(needless, right, strict=True) if n <= x + 1e-12) >= y - 1e-12


def test_the_file_is_bound_to_roster_weights_and_requests(tmp_path: Path) -> None:
    outputs = outputs_of(12, 80)
    result = tune(outputs, CURRENT, COST, folds=3)
    path = tmp_path / "thresholds.toml"
    path.write_text(thresholds_file(result))
    read = Thresholds.from_toml(path)
    assert read == result.chosen
    assert read.roster_digest == skills(30).digest
    assert read.weights_digest == outputs.weights_digest == "TableJudge"
    assert read.requests_digest == requests_digest(outputs.turns)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_plot_is_a_picture_and_repeats(tmp_path: Path, ending: str) -> None:
    result = tune(outputs_of(13, 60), CURRENT, COST, folds=3)
    path = plot_front(result, tmp_path / f"front.{ending}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    data = path.read_bytes()
    assert data.startswith(start) and len(data) > 5_000
    if ending == "png":
        assert plot_front(result, tmp_path / "again.png").read_bytes() == data


def test_a_picture_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    result = tune(outputs_of(13, 60), CURRENT, COST, folds=3)
    with pytest.raises(TuneError, match=r"\.png, \.svg, \.pdf"):
        plot_front(result, tmp_path / "front.bmp")


def test_stored_outputs_come_back(tmp_path: Path) -> None:
    outputs = outputs_of(14, 40)
    path = write_outputs(outputs, tmp_path / "stages.json")
    again = read_outputs(path, outputs.turns)
    assert np.array_equal(again.fits, outputs.fits) and np.array_equal(again.need, outputs.need)
    assert np.array_equal(again.right, outputs.right)
    assert (
        tune(again, CURRENT, COST, folds=2).chosen == tune(outputs, CURRENT, COST, folds=2).chosen
    )


def test_stored_outputs_of_other_requests_are_refused(tmp_path: Path) -> None:
    outputs = outputs_of(14, 40)
    path = write_outputs(outputs, tmp_path / "stages.json")
    other = [turn.model_copy(update={"text": turn.text + "!"}) for turn in outputs.turns]
    with pytest.raises(TuneError, match="other requests"):
        read_outputs(path, other)


@settings(max_examples=60, deadline=None)
@given(cut=st.floats(0, 0.999), flip=st.integers(0, 255))
def test_damaged_stage_outputs_give_an_error_and_no_traceback(
    tmp_path_factory: pytest.TempPathFactory, cut: float, flip: int
) -> None:
    outputs = outputs_of(15, 12)
    path = tmp_path_factory.mktemp("damaged") / "stages.json"
    data = bytearray(write_outputs(outputs, path).read_bytes())
    path.write_bytes(bytes(data[: int(len(data) * cut)]))
    with pytest.raises(TuneError):
        read_outputs(path, outputs.turns)
    data[int(len(data) * cut)] = flip
    path.write_bytes(bytes(data))
    try:
        again = read_outputs(path, outputs.turns)
    except TuneError as error:
        assert str(path) in str(error)
    else:
        assert again.fits.shape == outputs.fits.shape
