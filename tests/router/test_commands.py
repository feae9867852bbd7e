"""The commands a user types first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from router.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent.parent


def invoke(*arguments: str, input: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=input)


def test_help_names_every_command() -> None:
    output = invoke("--help").output
    assert all(name in output for name in COMMANDS)


def test_suggest_prints_one_line() -> None:
    result = invoke("suggest", "thanks, that was it")
    assert result.exit_code == 0 and result.stdout.startswith("no skill:")
    assert len(result.stdout.splitlines()) == 1


def test_suggest_explains() -> None:
    result = invoke("suggest", "--explain", "Turn talk.md into a new PowerPoint deck")
    assert "needs a skill" in result.stdout and "pptx-author" in result.stdout


def test_suggest_as_json() -> None:
    record = json.loads(invoke("suggest", "--json", "Turn talk.md into a new deck").stdout)
    assert set(record) >= {"name", "reason", "ranking", "gate", "reread", "block", "elapsed_ms"}
    assert len(record["ranking"]) == 10 and "need" in record["gate"]
    assert record["block"].startswith("\n\n<skill_relevance>")


def test_suggest_prints_the_block() -> None:
    result = invoke("suggest", "--block", "good morning")
    assert "No skill in the roster appears relevant" in result.stdout


@pytest.mark.parametrize("data", [b"good morning", b"\xff\xfe broken", b""])
def test_the_request_may_come_from_stdin(data: bytes) -> None:
    assert invoke("suggest", input=data).exit_code == 0


def test_suggest_on_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "kite-repair"
    folder.mkdir()
    (folder / "SKILL.md").write_text(
        "---\nname: kite-repair\ndescription: Mend kites.\n---\nGlue.\n"
    )
    record = json.loads(
        invoke("suggest", "mend my kite", "--roster", str(tmp_path), "--json").stdout
    )
    assert record["ranking"] == [["kite-repair", 1.0]]


@pytest.mark.parametrize(
    "arguments",
    [
        ["suggest", "x", "--roster", "/no/such/folder"],
        ["suggest", "x", "--thresholds", "/no/such.toml"],
        ["suggest", "x", "--encoder", "/no/such/encoder"],
        ["suggest", "x", "--heads", "/no/such/heads.json"],
        ["nonsense"],
    ],
)
def test_a_wrong_setup_is_one_clear_line(arguments: list[str]) -> None:
    result = invoke(*arguments)
    assert result.exit_code in (1, 2) and isinstance(result.exception, SystemExit)
    assert "Error" in result.output and "Traceback" not in result.output


def test_the_demo_runs_as_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from router.cli import main; main()", "demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("the agent reads:") == 3
