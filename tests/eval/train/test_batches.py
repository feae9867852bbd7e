"""Batches and losses."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eval.train.checkpoint import load_start
from eval.train.contrast import Fits, late_interaction, pair_loss, roster_loss
from eval.train.errors import TrainError
from eval.train.labelled import find_wrong
from eval.train.loop import rate
from eval.train.model import TokenEncoder, Vectors
from eval.train.pairs import read_pairs
from eval.train.sampling import Cycle, PairSampler, view
from eval.train.sources import Source, find_sources, pick_groups
from roster import Skill
from router.local.text import document


@pytest.fixture(scope="module")
def model(tiny: Path) -> TokenEncoder:
    torch.manual_seed(0)
    return load_start(str(tiny))


def vectors(seed: int, count: int, lengths: list[int]) -> Vectors:
    torch.manual_seed(seed)
    unit = torch.nn.functional.normalize
    mask = torch.zeros(count, max(lengths))
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
    importance = torch.rand(count, max(lengths)) * mask
    return Vectors(
        unit(torch.randn(count, 32), dim=-1),
        unit(torch.randn(count, max(lengths), 8), dim=-1),
        mask,
        importance / importance.sum(1, keepdim=True),
    )


NAMES = st.from_regex(r"[a-z0-9]([a-z0-9_-]{0,20}[a-z0-9])?", fullmatch=True)


@given(NAMES, st.text(max_size=300), st.text(max_size=1200))
def test_the_plain_view_is_the_document_the_router_scores(name: str, front: str, body: str) -> None:
    skill = Skill(name=name, description=front, body=body)
    assert view(skill) == document(skill)


def test_a_batch_holds_each_skill_once_and_draws_look_alikes(pairs_file: Path) -> None:
    skills, _ = read_pairs(pairs_file)
    assert any(one.look_alikes for one in skills)
    sampler = PairSampler(skills, seed=3)
    state = sampler.state()
    batch = sampler.batch(len(skills))
    assert len({request.lower() for request, _ in batch}) == len(skills)
    sampler.restore(state)
    assert sampler.batch(len(skills)) == batch
    with pytest.raises(TrainError, match="--batch"):
        sampler.batch(len(skills) + 1)


@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_a_cycle_gives_each_member_once_a_round(size: int, rounds: int, seed: int) -> None:
    cycle = Cycle(range(size), random.Random(seed))
    for _ in range(rounds):
        assert sorted(cycle.draw() for _ in range(size)) == list(range(size))


def test_late_interaction_is_the_weighted_best_cosine_without_padding() -> None:
    query, text = vectors(0, 3, [4, 2, 5]), vectors(1, 2, [6, 3])
    found = late_interaction(query, text, bf16=False).numpy()
    for i in range(3):
        for j in range(2):
            count = int(text.mask[j].sum())
            cosines = query.tokens[i].numpy() @ text.tokens[j, :count].numpy().T
            expected = float(np.dot(cosines.max(axis=1), query.importance[i].numpy()))
            assert found[i, j] == pytest.approx(expected, abs=1e-5)


def test_pairs_that_match_cost_less_than_pairs_that_do_not(model: TokenEncoder) -> None:
    query = vectors(0, 6, [5] * 6)
    order = [1, 2, 3, 4, 5, 0]
    moved = Vectors(*(part[order] for part in query))
    for right, wrong in zip(
        pair_loss(model, query, query), pair_loss(model, query, moved), strict=True
    ):
        assert float(right.detach()) < float(wrong.detach())


def test_a_forbidden_column_does_not_count(model: TokenEncoder) -> None:
    query, text = vectors(0, 2, [3, 3]), vectors(1, 3, [4, 4, 4])
    target = torch.tensor([0, 3])
    forbidden = torch.zeros(2, 4, dtype=torch.bool)
    forbidden[:, 2] = True
    fits = Fits([0], [0], torch.tensor([1.0]))
    other = Vectors(*(torch.cat([part[:2], part[2:].flip(-1)]) for part in text))
    for one, two in zip(
        roster_loss(model, query, text, target, forbidden, fits),
        roster_loss(model, query, other, target, forbidden, fits),
        strict=True,
    ):
        assert float(one.detach()) == pytest.approx(float(two.detach()), abs=1e-6)


def test_wrong_skills_never_hold_the_right_one(model: TokenEncoder, labelled: Path) -> None:
    source: Source = find_sources([labelled], bundled=False, small_talk=False)[0]
    rows = {skill.name: row for row, skill in enumerate(source.roster)}
    for turn, wrong in zip(source.turns, find_wrong(model, [source]), strict=True):
        assert wrong and (turn.gold is None or rows[turn.gold] not in wrong)
        if turn.near is not None:
            assert wrong[:2] == [rows[turn.near]] * 2


def test_groups_are_picked_by_pattern(labelled: Path) -> None:
    sources = find_sources([labelled], bundled=False)
    assert [s.group for s in pick_groups(sources, ["0[12]"])] == ["01", "02"]
    with pytest.raises(ValueError, match=r"'9'.*00, 01, 02"):
        pick_groups(sources, ["00", "9"])


def test_the_rate_rises_then_falls() -> None:
    rates = [rate(step, 100) for step in range(100)]
    peak = rates.index(max(rates))
    assert 3 <= peak <= 8 and rates[:peak] == sorted(rates[:peak])
    assert rates[peak:] == sorted(rates[peak:], reverse=True) and rates[-1] == 0.03
