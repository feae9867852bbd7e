"""Crowds: of the size asked for, each inside the next, the labelled roster whole in all."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.scale.crowd import COPY, crowd, variant
from eval.scale.report import figure, table, verdicts
from roster import Roster, Skill
from router.index.groups import grouped


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for i in range(9):
        folder = tmp_path / f"source-{i}"
        folder.mkdir()
        text = f"---\nname: tool-{i % 7}\ndescription: does {i}\n---\nStep {i}, then rest.\n"
        (folder / "SKILL.md").write_text(text)
    return tmp_path


@pytest.mark.parametrize("size", [1, 2, 8, 11, 12, 40, 75])
def test_a_crowd_has_its_size_and_is_in_every_larger_one(
    archive: Path, pair: Roster, size: int
) -> None:
    small, large = crowd([pair], archive, size), crowd([pair], archive, size + 10)
    assert len(small) == size and list(large)[:size] == list(small)
    assert list(small)[:2] == list(pair)[:size]


def test_variants_are_copies_and_look_alikes(archive: Path, pair: Roster) -> None:
    groups = grouped(crowd([pair], archive, 74))  # 2 + 9 real ones, 7 rounds of variants
    sizes = sorted(len(members) for members in groups.values())
    assert sizes[-1] > 1 and sum(sizes) == 74 and len(sizes) > 50


def test_a_variant_keeps_what_makes_it_one() -> None:
    skill = Skill(name="a:mend", description="Mends nets.", body="Knot by knot.")
    kinds = [variant(skill, at, 1) for at in range(8)]
    assert kinds[7] == skill or COPY == "copy"
    assert all(
        one == skill
        or (one.description == skill.description and one.body.startswith(skill.body))
        or (one.body == skill.body and one.name.startswith("mend-"))
        for one in kinds
    )
    assert len({(one.name, one.description, one.body) for one in kinds}) >= 6


def row(size: int, p50: float, rss: int) -> dict[str, object]:
    return {
        "size": size, "hit_at_1": 0.5, "hit_at_10": 0.75, "rss_mib": rss, "index_s": 4.0,
        "open_s": 1.25, "latency_ms": {"p50": p50, "p95": 2 * p50}, "cpu_ms": {"p50": 70.0},
    }  # fmt: skip


def test_the_report_says_what_was_measured_and_judges_the_bars() -> None:
    rows = [row(177, 9.0, 200), row(1_000, 12.0, 260), row(60_000, 79.0, 1_500)]
    assert "| 60,000 | 0.500 | 0.750 | 79.0 | 158.0 | 70.0 | 1,500 |  | 4 | 1.2 |" in table(rows)
    assert all(verdicts(rows).values())
    slow = [*rows[:2], row(60_000, 900.0, 1_600)]
    assert verdicts(slow) == {"memory": False, "time": False, "growth": False}
    assert figure(rows).count("<svg") == 1
