"""Thresholds and their file."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster import Roster, Skill
from router import Router, Thresholds, ThresholdsError
from tests.router.fakes import ScriptedJudge

UNIT = st.floats(0, 1)


@given(
    UNIT, UNIT, st.integers(1, 50), st.integers(0, 20_000), st.none() | st.text("0af", min_size=1)
)
def test_toml_reads_back_to_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    gate: float,
    fit: float,
    shortlist: int,
    excerpt: int,
    digest: str | None,
) -> None:
    thresholds = Thresholds(
        gate=gate, fit=fit, shortlist=shortlist, excerpt=excerpt, roster_digest=digest
    )
    path = tmp_path_factory.mktemp("t") / "thresholds.toml"
    path.write_text(thresholds.to_toml())
    assert Thresholds.from_toml(path) == thresholds


def test_defaults_are_the_published_ones() -> None:
    defaults = Thresholds()
    assert (defaults.gate, defaults.fit, defaults.shortlist, defaults.excerpt) == (0.3, 0.3, 3, 700)


def test_the_digest_is_of_the_numbers_alone() -> None:
    assert Thresholds().digest == Thresholds(roster_digest="x").digest
    assert Thresholds().digest != Thresholds(gate=0.31).digest


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"gate = 1.5", ["gate", "less than or equal to 1"]),
        (b"gat = 0.5", ["gat", "known keys are gate, fit"]),
        (b"gate = 'high'", ["gate"]),
        (b"gate = = 1", ["not TOML", "line 1"]),
        (b"\xff\xfe", ["UTF-8"]),
        (b"shortlist = 0", ["shortlist"]),
        (b"fit = nan", ["fit"]),
    ],
)
def test_a_bad_file_is_named_with_key_and_remedy(
    tmp_path: Path, content: bytes, words: list[str]
) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_bytes(content)
    with pytest.raises(ThresholdsError) as raised:
        Thresholds.from_toml(path)
    assert all(word in str(raised.value) for word in [str(path), *words])


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ThresholdsError, match="cannot be read"):
        Thresholds.from_toml(tmp_path / "no.toml")


@pytest.mark.parametrize("other", ["roster", "weights", "requests", "roster requests", ""])
def test_thresholds_tuned_on_something_else_are_announced_for_any_judge(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, other: str
) -> None:
    roster = Roster.from_skills(
        [Skill(name="bread-bake", description="Bake bread.", body="Knead.")]
    )
    now = {"roster": roster.digest, "weights": "ScriptedJudge", "requests": "a" * 64}
    tuned = {f"{k}_digest": "0" * 64 if k in other.split() else v for k, v in now.items()}
    path = tmp_path / "thresholds.toml"
    path.write_text(Thresholds.model_validate(tuned).to_toml())
    judge = ScriptedJudge(["bread-bake"], {"bread-bake": 0.9})
    with caplog.at_level(logging.WARNING):
        Router.load(roster, judge=judge, thresholds=path, requests_digest="a" * 64)
    assert ("tuned on another" in caplog.text) == bool(other)
    for name in now:
        assert (name in caplog.text.partition("another")[2]) == (name in other.split())
    if other == "requests":
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            Router.load(roster, judge=judge, thresholds=path)
        assert not caplog.records, "nobody said which requests count"
