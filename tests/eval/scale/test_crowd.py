"""Crowds: of the size asked for, each inside the next, the labelled roster whole in all."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.bench import Answer
from eval.data import LabelledTurn
from eval.scale.crowd import COPY, crowd, variant
from eval.scale.report import figure, table, verdicts
from eval.scale.versions import hits_of_versions
from roster import Roster, Skill
from router.index.groups import grouped
from router.suggestion import Ranking, Reason, Suggestion


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
        "size": size, "hit_at_1": 0.5, "hit_at_10": 0.75, "version_at_1": 0.6,
        "version_at_10": 0.8, "candidate": 0.9, "rss_mib": rss, "index_s": 4.0,
        "open_s": 1.25, "latency_ms": {"p50": p50, "p95": 2 * p50}, "cpu_ms": {"p50": 70.0},
    }  # fmt: skip


def test_the_report_says_what_was_measured_and_judges_the_bars() -> None:
    rows = [row(177, 9.0, 200), row(1_000, 12.0, 260), row(60_000, 79.0, 1_500)]
    line = "| 60,000 | 0.500 | 0.750 | 0.600 | 0.800 | 0.900 | 79.0 | 158.0 | 70.0 | 1,500 |  | 4 |"
    assert line in table(rows)
    assert all(verdicts(rows).values())
    slow = [*rows[:2], row(60_000, 900.0, 1_600)]
    assert verdicts(slow) == {"memory": False, "time": False, "growth": False}
    assert figure(rows).count("<svg") == 1


def test_a_version_shares_its_text_and_a_namesake_does_not() -> None:
    steps = "Cut the torn part away, knot a new mesh, then test it with a weight."
    skills = [
        Skill(name="mend", description="Mends nets.", body=steps),
        Skill(name="a:mend-nets", description="Nets, mended.", body=f"{steps} Ask the crew first."),
        Skill(name="b:mend", description="Mends fences.", body="Drive new posts in, nail boards."),
        Skill(name="empty", description="Nothing.", body=""),
    ]
    roster = Roster.from_skills(skills)
    turn = LabelledTurn(text="mend my net", gold="mend")

    def answer(*names: str) -> Answer:
        ranking = Ranking(entries=tuple((name, 0.1) for name in names))
        given = Suggestion(
            name=None, reason=Reason.FITS, ranking=ranking, thresholds_gate=0.1,
            thresholds_fit=0.1, roster_digest="", thresholds_digest="", weights_digest="",
            elapsed_ms={},
        )  # fmt: skip
        return Answer(turn=turn, suggestion=given)

    def hits(*names: str) -> tuple[float, ...]:
        return tuple(hits_of_versions(roster, [answer(*names)]).values())

    assert hits("mend", "empty") == (1.0, 1.0, 1.0)
    assert hits("a:mend-nets", "mend") == (1.0, 1.0, 1.0)
    assert hits("b:mend", "a:mend-nets") == (0.0, 1.0, 0.0)
    assert hits("b:mend", "empty") == hits() == (0.0, 0.0, 0.0)
    assert hits_of_versions(roster, []) == {}
