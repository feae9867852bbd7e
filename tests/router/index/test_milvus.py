"""The index in Milvus, on a Milvus Lite file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eval.scale.agree import compare
from roster import Roster, Skill
from router.errors import RouterError
from router.index.load import load_pool
from router.index.milvus import MilvusIndex
from router.index.pool import Pool
from router.local.heads import Linear
from router.turn import Turn
from tests.router.index.conftest import WordEncoder, make_skills
from tests.router.index.test_pool import Requests

pytestmark = pytest.mark.slow


@pytest.fixture
def opened() -> Iterator[list[Pool]]:
    pytest.importorskip("milvus_lite")
    pools: list[Pool] = []
    yield pools
    for pool in pools:
        if isinstance(pool.index, MilvusIndex):
            pool.index.close()


def open_milvus(
    folder: Path, skills: list[Skill], opened: list[Pool], partition: str = "team"
) -> Pool:
    uri = f"milvus:{folder / 'vectors.db'}#{partition}"
    pool = load_pool(Roster.from_skills(skills), WordEncoder(), folder, index=uri)
    opened.append(pool)
    return pool


def test_candidates_are_nearly_always_those_of_brute_force(
    tmp_path: Path, skills: list[Skill], wide: Linear, requests: Requests, opened: list[Pool]
) -> None:
    pool = open_milvus(tmp_path, skills, opened)
    pool.count = 80
    found = compare(pool, [Turn(request=text) for text in requests(30)], wide)
    assert found["agree"] >= 0.95 * found["queries"]


def test_tools_are_filtered_by_milvus(
    tmp_path: Path, skills: list[Skill], wide: Linear, requests: Requests, opened: list[Pool]
) -> None:
    pool = open_milvus(tmp_path, skills, opened)
    by_name = {skill.name: skill for skill in skills}
    for text in requests(3):
        look = pool.look(Turn(request=text, allowed_tools=frozenset({"shell"})), wide)
        assert look.names
        assert all(set(by_name[name].requires) <= {"shell"} for name in look.names)


def test_a_changed_roster_changes_what_changed(
    tmp_path: Path, skills: list[Skill], wide: Linear, opened: list[Pool]
) -> None:
    first = open_milvus(tmp_path, skills, opened)
    assert isinstance(first.index, MilvusIndex) and first.index.changed == (120, 0)
    first.index.close()
    opened.clear()
    new = make_skills(2, seed=7)
    second = open_milvus(tmp_path, [*skills[5:], *new], opened)
    assert isinstance(second.index, MilvusIndex) and second.index.changed == (2, 5)
    look = second.look(Turn(request=new[0].description), wide)
    assert new[0].name in look.names
    assert not {skill.name for skill in skills[:5]} & set(look.names)


def test_rosters_in_one_file_do_not_see_each_other(
    tmp_path: Path, skills: list[Skill], wide: Linear, opened: list[Pool]
) -> None:
    one = open_milvus(tmp_path, skills[:60], opened, "one")
    assert isinstance(one.index, MilvusIndex)
    one.index.close()
    opened.clear()
    other = open_milvus(tmp_path, skills[60:], opened, "other")
    assert isinstance(other.index, MilvusIndex) and other.index.changed == (60, 0)
    look = other.look(Turn(request=skills[0].description), wide)
    assert set(look.names) <= {skill.name for skill in skills[60:]}


def test_a_server_that_is_not_there_is_a_clear_error(tmp_path: Path, skills: list[Skill]) -> None:
    pytest.importorskip("pymilvus")
    with pytest.raises(RouterError, match="Milvus cannot be used"):
        load_pool(
            Roster.from_skills(skills[:5]), WordEncoder(), tmp_path,
            index="milvus:http://127.0.0.1:9",
        )  # fmt: skip
