"""The arithmetic of skills: published figures, the command, and what holds for any numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from eval.cost import (
    CostError,
    Place,
    Procedure,
    Use,
    break_even,
    cost,
    estimate,
    latency_effect,
    procedure_cost,
    read_procedures,
)
from roster import Roster, Skill
from router.cli import main

EXAMPLE = Path(__file__).parents[2] / "docs" / "cost-example.toml"
USE = Use(calls_per_day=4_000, stays=1_500, context=3_000)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["cost", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_published_prompt_of_six_procedures() -> None:
    procedures, use = read_procedures(EXAMPLE)
    result = cost(procedures, use)
    assert result.prompt_before == 6_000
    assert result.prompt_after == 1_800
    assert result.carried_per_call == 4_500
    assert result.weighted_per_call == pytest.approx(76)
    assert result.carried_per_day == pytest.approx(18e6)
    assert result.used_per_day == pytest.approx(0.3e6, rel=0.02)
    assert result.saving_per_call == pytest.approx(4_120, rel=0.002)
    assert result.saving_per_day == pytest.approx(16.5e6, rel=0.001)
    assert result.loads_per_day == pytest.approx(400)
    assert result.round_trip_per_day == pytest.approx(1.2e6)
    assert result.net_per_day == pytest.approx(15.3e6, rel=0.001)
    assert result.latency.load_seconds == pytest.approx(1.5)
    assert result.latency.past_tail
    assert result.latency.p95_rises_at_most == pytest.approx(1.5)
    notes = result.procedures[0]
    assert notes.name == "release-notes"
    assert notes.saving_per_call == pytest.approx(832)
    assert notes.saving_per_day == pytest.approx(3.3e6, rel=0.01)
    assert notes.break_even == pytest.approx(0.22, abs=0.005)
    assert notes.place is Place.SKILL


def test_the_published_checklist_is_better_left_in_the_prompt() -> None:
    one = procedure_cost(Procedure(name="checklist", tokens=2_400, share=0.45), USE)
    assert one.break_even == pytest.approx(0.44, abs=0.005)
    assert one.place is Place.PROMPT
    assert one.net_per_day < 0


def test_the_published_cached_prompt_saves_little() -> None:
    procedure = Procedure(name="rare", tokens=1_200, share=0.01)
    use = Use(calls_per_day=10_000, context=3_000)
    plain = procedure_cost(procedure, use)
    cached = procedure_cost(procedure, use.model_copy(update={"cached_factor": 0.1}))
    assert plain.net_per_day == pytest.approx(11e6, rel=0.01)
    assert cached.cached_net_per_day == pytest.approx((0.1 * 1_150 - 42) * 10_000)
    assert cached.cached_break_even == pytest.approx(0.1 * plain.break_even)


@given(
    tokens=st.floats(0, 1e6), description=st.floats(0, 1e4), context=st.floats(0, 1e6),
    share=st.floats(0, 1),
)  # fmt: skip
def test_break_even_is_where_the_net_changes_sign(
    tokens: float, description: float, context: float, share: float
) -> None:
    use = Use(calls_per_day=1, context=context, description=description)
    one = procedure_cost(Procedure(name="p", tokens=tokens, share=share), use)
    at = break_even(tokens, description, context)
    assert 0.0 <= at <= 1.0
    if share < at - 1e-6:
        assert one.net_per_day > 0 and one.place is Place.SKILL
    if share > at + 1e-6:
        assert one.net_per_day < 1e-6 and one.place is Place.PROMPT


@given(
    st.lists(st.tuples(st.floats(1, 1e5), st.floats(0, 0.2)), min_size=1, max_size=5),
    st.one_of(st.none(), st.floats(0, 1)),
)
def test_moving_all_is_the_sum_of_moving_each(
    rows: list[tuple[float, float]], factor: float | None
) -> None:
    items = [Procedure(name=f"p{i}", tokens=t, share=f) for i, (t, f) in enumerate(rows)]
    use = USE.model_copy(update={"cached_factor": factor})
    total = cost(items, use)
    assert total.net_per_day == pytest.approx(
        sum(one.net_per_day for one in total.procedures), rel=1e-6, abs=1e-3
    )
    if factor is not None:
        assert total.cached_net_per_day == pytest.approx(
            sum(one.cached_net_per_day or 0.0 for one in total.procedures), rel=1e-6, abs=1e-3
        )


@example(share=1.0, p50=0.5, spread=1.1262737529658176, first=1.0)
@given(
    share=st.floats(0, 1), p50=st.floats(0.05, 20), spread=st.floats(1.0, 8.0),
    first=st.floats(0, 5),
)  # fmt: skip
def test_the_estimated_percentile_lies_within_the_bound(
    share: float, p50: float, spread: float, first: float
) -> None:
    use = Use(calls_per_day=1, latency_p50=p50, latency_p95=p50 * spread, first_token_seconds=first)
    effect = latency_effect(share, use)
    assert effect.p95_after is not None and effect.p95_before is not None
    rise = effect.p95_after - effect.p95_before
    assert -1e-9 <= rise <= effect.p95_rises_at_most + 1e-9


def test_the_estimated_percentile_is_that_of_a_sample() -> None:
    import numpy as np

    use = Use(calls_per_day=1, latency_p50=2.0, latency_p95=6.0)
    rng = np.random.default_rng(0)
    sigma = np.log(3.0) / 1.6448536
    times = 2.0 * np.exp(sigma * rng.standard_normal(400_000))
    times[rng.random(400_000) < 0.3] += use.load_seconds
    assert latency_effect(0.3, use).p95_after == pytest.approx(np.percentile(times, 95), rel=0.01)


def test_the_command_prints_the_published_table() -> None:
    output = run("--procedures", str(EXAMPLE))
    for figure in ("18.0M", "304k", "832", "4,124", "16.5M", "1.2M", "15.3M", "22%", "1.5 s"):
        assert figure in output, figure


def test_the_command_takes_one_procedure_and_gives_json() -> None:
    output = run("--body", "2400", "--share", "45%", "--calls", "4000", "--json", "--price", "1")
    result = json.loads(output)
    assert result["procedures"][0]["place"] == "prompt"
    assert result["procedures"][0]["break_even"] == pytest.approx(0.435, abs=0.001)
    assert result["money_per_day"] == pytest.approx(result["net_per_day"] / 1e6)


def test_options_override_the_file() -> None:
    result = json.loads(run("--procedures", str(EXAMPLE), "--calls", "8000", "--json"))
    assert result["net_per_day"] == pytest.approx(2 * 15.296e6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no procedures"),
        ("calls_per_day = 4\n", "holds no procedures"),
        ("procedure = 3\n", "holds no procedures"),
        ("calls_per_day = \n", "line 1"),
        ("[[procedure]]\nname = 'a'\ntokens = 5\nshare = 0.1\n", "calls_per_day: Field required"),
        ("calls_per_day=1\n[[procedure]]\nname='a'\ntokens=5\nshare=2\n", "procedure 1: share"),
        ("calls_per_day=1\n[[procedure]]\nname='a'\ntokens=5\nshare='two'\n", "such as 0.02 or 2%"),
        ("calls_per_day=1\n[[procedure]]\nname='a'\ntokens=-5\nshare=0\n", "procedure 1: tokens"),
        ("calls_per_day=1\n[[procedure]]\nname='a'\ntokens=nan\nshare=0\n", "procedure 1: tokens"),
        ("calls_per_day=1\n[[procedure]]\nnam='a'\ntokens=5\nshare=0\n", "procedure 1: name"),
        (
            "calls_per_day=1\n" + 2 * "[[procedure]]\nname='a'\ntokens=5\nshare=0\n",
            "procedure 2: name: 'a' is also procedure 1",
        ),
        ("calls=1\n[[procedure]]\nname='a'\ntokens=5\nshare=0\n", "the known keys are"),
        (
            "calls_per_day=1\nlatency_p50=1\n[[procedure]]\nname='a'\ntokens=5\nshare=0\n",
            "together",
        ),
    ],
)
def test_a_bad_file_is_named_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "procedures.toml"
    path.write_text(text)
    with pytest.raises(CostError) as caught:
        read_procedures(path)
    assert str(path) in str(caught.value) and message in str(caught.value)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("cost") / "procedures.toml"
    path.write_bytes(data)
    with pytest.raises(CostError):
        read_procedures(path)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--body", "900"),
        ("--body", "900", "--share", "2%"),
        ("--body", "900", "--share", "200%", "--calls", "1"),
        ("--body", "900", "--share", "2%", "--calls", "1", "--procedures", str(EXAMPLE)),
        ("--procedures", str(EXAMPLE), "--roster", "x"),
        ("--body", "900", "--share", "2%", "--calls", "1", "--p50", "2"),
        ("--body", "nan", "--share", "2%", "--calls", "1"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["cost", *arguments])
    assert result.exit_code in (1, 2), result.output
    assert isinstance(result.exception, SystemExit) and "Error:" in result.output


@pytest.fixture
def pantry() -> Roster:
    return Roster.from_skills(
        [
            Skill(name="bread-bake", description="d" * 70, body="b" * 4_000),
            Skill(name="jam-cook", description="d" * 30, body="b" * 400),
        ]
    )


def test_shares_and_lengths_are_estimated_from_a_log(pantry: Roster, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [
        {"suggested": "bread-bake"},
        {"suggested": None},
        {"name": "bread-bake"},
        {"name": None},
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (bread, jam), calls = estimate(pantry, log)
    assert calls == 4
    assert (bread.share, bread.tokens, bread.description) == (0.5, 1_000, 20)
    assert (jam.share, jam.tokens) == (0.0, 100)
    narrow, _ = estimate(pantry, log, characters_per_token=2.0, width=10)
    assert (narrow[0].tokens, narrow[0].description) == (2_000, 10)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "holds no calls"),
        ("{", ":2: is not JSON"),
        ("[]", ":2: has no suggested or name"),
        ('{"x": 1}', ":2: has no suggested or name"),
        ('{"suggested": "cake"}', ":2: suggested: the roster has no skill 'cake'"),
        ('{"suggested": 3}', ":2: suggested: the roster has no skill '3'"),
    ],
)
def test_a_bad_log_is_named_with_the_line(
    pantry: Roster, tmp_path: Path, line: str, message: str
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("\n" + line)
    with pytest.raises(CostError) as caught:
        estimate(pantry, log)
    assert message in str(caught.value)


def test_the_command_estimates_from_a_roster_and_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"suggested": "release-notes"}\n' + '{"suggested": null}\n' * 19)
    result = json.loads(run("--log", str(log), "--calls", "100", "--json"))
    shares = {one["name"]: one["share"] for one in result["procedures"]}
    assert shares.pop("release-notes") == 0.05
    assert set(shares.values()) == {0.0}
    assert result["loads_per_day"] == pytest.approx(5)


def test_names_are_printed_in_one_piece_and_as_text(tmp_path: Path) -> None:
    path = tmp_path / "procedures.toml"
    long = "a-procedure-with-a-name-of-forty-letters"
    path.write_text(
        'calls_per_day = 0\n[[procedure]]\nname = "[bold]x\\u001b[31m\\n"\ntokens = 0\nshare = 0\n'
        f'[[procedure]]\nname = "{long}"\ntokens = 9\nshare = 0\n'
    )
    printed = run("--procedures", str(path))
    assert long in printed and "[bold]x" in printed
    assert "\x1b" not in printed and "-0" not in printed
