"""A benchmark in parts gives the answers of the whole one, here and on a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.bench import Answer, run_bench
from eval.data import LabelledTurn
from eval.scale.sweep import sweep
from roster import Roster
from router import Router
from router.thresholds import Thresholds

SETTINGS = (Thresholds(gate=0.2, fit=0.2), Thresholds(gate=0.9, fit=0.9))
TURNS = [
    LabelledTurn(text="patch the torn sail of my kite", gold="kite-repair"),
    LabelledTurn(text="feed my sourdough starter", gold="bread-bake"),
    LabelledTurn(text="thanks, that is all"),
]


@pytest.fixture
def path(tmp_path: Path, pair: Roster) -> Path:
    file = tmp_path / "roster.jsonl"
    lines = (
        {"name": skill.name, "description": skill.description, "body": skill.body} for skill in pair
    )
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return file


def decisions(answers: list[Answer]) -> list[object]:
    return [(one.turn, one.suggestion.name, one.suggestion.ranking) for one in answers]


def test_parts_give_the_answers_of_the_whole(path: Path, tmp_path: Path) -> None:
    found = sweep(path, TURNS, SETTINGS, tmp_path, jobs=1, part=2)
    for thresholds, answers in zip(SETTINGS, found, strict=True):
        router = Router.load(Roster.from_path(path), thresholds=thresholds, cache=tmp_path)
        assert decisions(answers) == decisions(run_bench(router, TURNS))


@pytest.mark.slow
def test_a_cluster_gives_the_same_answers(path: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    from joblib import parallel_config

    here = sweep(path, TURNS, SETTINGS, tmp_path / "here", jobs=1)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path
        ) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        there = sweep(path, TURNS, SETTINGS, tmp_path / "there", part=1)
    assert [decisions(part) for part in there] == [decisions(part) for part in here]
