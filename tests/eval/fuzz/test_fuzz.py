"""The short mode of the fuzzer, and that it finds what is planted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.fuzz.__main__ import main
from eval.fuzz.run import Tally, feed_one, fuzz, keep_examples, make_input, shares
from eval.fuzz.target import FaultError, Target, clean, require
from eval.fuzz.targets import NAMES, open_targets

# The MCP server is a process of its own.
LEFT_OUT = {"mcp-message"}


def test_no_entry_has_a_fault(tmp_path: Path) -> None:
    names = [name for name in NAMES if name not in LEFT_OUT]
    with open_targets(tmp_path, names) as targets:
        tallies = fuzz(targets, 300, seed=20_240)
    assert {tally.target: [f.error for f in tally.faults.values()] for tally in tallies} == {
        name: [] for name in names
    }
    assert all(tally.inputs == tally.accepted + tally.refused > 0 for tally in tallies)


@pytest.mark.slow
def test_every_target_both_accepts_and_refuses(tmp_path: Path) -> None:
    # A target that refuses everything would test nothing but its first check.
    with open_targets(tmp_path) as targets:
        tallies = fuzz(targets, 6_000, seed=4)
    assert {t.target: [f.error for f in t.faults.values()] for t in tallies if t.faults} == {}
    assert [t.target for t in tallies if not t.accepted or not t.refused] == []


def _planted(data: bytes) -> bool:
    require(b"x" not in data, f"an x: {data!r}")
    return int(data) > 5  # "y" raises


def target(share: int = 1, feed: object = _planted) -> Target:
    inputs = (b"1", b"9", b"x1", b"y")
    return Target("planted", share, (), lambda r: r.choice(inputs), feed)  # type: ignore[arg-type]


def test_a_planted_fault_is_found_counted_and_kept(tmp_path: Path) -> None:
    (tally,) = fuzz([target()], 400)
    assert tally.inputs == 400
    assert tally.accepted and tally.refused and tally.faulty > 10
    assert tally.accepted + tally.refused + tally.faulty == 400
    assert "fault: an x" in tally.faults
    kept = keep_examples([tally], tmp_path / "kept")
    again = Tally("planted")
    for file in kept:
        feed_one(target(), file.read_bytes(), again)
    assert again.faulty == len(kept) >= 2
    assert all("Traceback" in file.with_suffix(".txt").read_text() for file in kept)


def test_inputs_depend_on_the_seed_and_number_alone() -> None:
    one = target()
    made = [make_input(one, 3, number) for number in range(20)]
    assert made == [make_input(one, 3, number) for number in range(20)]
    assert made != [make_input(one, 4, number) for number in range(20)]


def test_inputs_are_shared_out() -> None:
    small, large = Target("s", 1, (), bytes, bool), Target("l", 9, (), bytes, bool)
    assert shares([small, large], 1_000) == {"s": 100, "l": 900}
    assert shares([small, large], 1) == {"s": 1, "l": 1}


@pytest.mark.parametrize(
    "message", ["", " ", "a" * 5_000, "bell \x07", "Traceback (most recent call last)", "\ud800"]
)
def test_an_error_must_read_as_one(message: str) -> None:
    with pytest.raises(FaultError):
        clean(message)


def test_an_error_must_name_its_file() -> None:
    assert clean("a.json:3: is not JSON", "a.json") is False
    with pytest.raises(FaultError, match=r"does not name a\.json"):
        clean("is not JSON", "a.json")


def test_the_command_prints_a_table_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    chosen = ["--target", "thresholds-toml", "--target", "load-skill"]
    assert main(["--inputs", "60", *chosen, "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "thresholds-toml" in printed and "skill-md" not in printed
    figures = json.loads(out.read_text())
    assert figures["inputs"] >= 60 and figures["faults"] == 0
    assert [row["target"] for row in figures["targets"]] == ["thresholds-toml", "load-skill"]
    given = tmp_path / "given"
    given.write_bytes(b"gate = 0.5")
    assert main(["--target", "thresholds-toml", "--replay", str(given)]) == 0
    assert " 1         1 " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--target", "nothing"])
