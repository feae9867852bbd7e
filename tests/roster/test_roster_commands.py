"""The roster commands and the survey."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from roster import Roster
from roster.cli import roster as group
from roster.survey import main as survey_main
from roster.survey import survey


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, list(arguments))


def test_list_shows_names_and_json_holds_everything(
    write_skill: Callable[..., Path], skills: Path
) -> None:
    write_skill("home/water")
    write_skill("dust", "---\nname: dust\ndescription: '[bold]x[/bold] \x1b[31m y'\n---\nb")
    shown = run("list", "--roster", str(skills))
    assert shown.exit_code == 0
    assert "2 skills" in shown.output and "water" in shown.output
    assert "[bold]x[/bold]" in shown.output and "\x1b" not in shown.output
    data = json.loads(run("list", "--roster", str(skills), "--json").stdout)
    assert data["digest"] == Roster.from_directory(skills).digest
    assert [skill["name"] for skill in data["skills"]] == ["dust", "water"]
    assert data["skills"][1]["category"] == "home"


def test_prompt_prints_the_index(write_skill: Callable[..., Path], skills: Path) -> None:
    write_skill("home/water")
    assert run("prompt", "--roster", str(skills), "--width", "12").stdout == (
        "  home:\n    - water: Waters th...\n"
    )
    assert run("prompt").stdout == Roster.bundled().prompt() + "\n"
    assert run("prompt", "--width", "2").exit_code == 2


def test_check_exits_by_severity(write_skill: Callable[..., Path], skills: Path) -> None:
    write_skill("water")
    assert run("check", "--roster", str(skills)).stdout == "1 skills, 0 errors, 0 warnings\n"
    file = write_skill("dust", "---\nname: dust\ndescription: a: b\n---\nb")
    shown = run("check", "--roster", str(skills))
    assert shown.exit_code == 0
    assert f"warning: {file}:3: the frontmatter is not valid YAML" in shown.stdout
    strict = run("check", "--roster", str(skills), "--strict")
    assert strict.exit_code == 1
    assert strict.stdout.startswith(f"error: {file}:3: ")
    write_skill("bad", "")
    assert run("check", "--roster", str(skills)).exit_code == 1
    data = json.loads(run("check", "--roster", str(skills), "--json").stdout)
    assert (data["skills"], data["errors"], data["warnings"]) == (2, 1, 1)
    assert {problem["code"] for problem in data["problems"]} == {"yaml-rejected", "empty"}


def test_check_reports_clashing_names_and_bad_json(
    write_skill: Callable[..., Path], skills: Path, tmp_path: Path
) -> None:
    write_skill("a/water")
    write_skill("b/water")
    shown = run("check", "--roster", str(skills))
    assert shown.exit_code == 1
    assert "a/water/SKILL.md has the same name" in shown.stdout
    file = tmp_path / "r.json"
    file.write_text("[{}]")
    shown = run("check", "--roster", str(file))
    assert shown.exit_code == 1
    assert f"error: {file}:1: field 'name'" in shown.stdout


@pytest.mark.parametrize("command", ["list", "prompt", "check"])
def test_a_missing_roster_is_one_clear_line(command: str) -> None:
    shown = run(command, "--roster", "/none/such")
    assert shown.exit_code == 1
    assert shown.stderr == "Error: /none/such does not exist; check the path of the roster\n"


def test_duplicates_option(write_skill: Callable[..., Path], skills: Path) -> None:
    write_skill("a/water")
    write_skill("b/water")
    assert run("prompt", "--roster", str(skills)).exit_code == 1
    namespaced = run("prompt", "--roster", str(skills), "--duplicates", "namespace")
    assert "- a:water: " in namespaced.stdout


def test_survey_counts(
    write_skill: Callable[..., Path], skills: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_skill("a/water")
    write_skill("b/water")
    write_skill("c", "---\nname: c\n---\n")
    write_skill("d", "")
    counted = survey(skills)
    assert (counted.files, counted.skills, counted.usable) == (4, 3, 2)
    assert counted.codes["description-unknown"] == counted.codes["empty"] == 1
    assert survey_main([str(skills)]) == 0
    assert "usable    2 (50.00 %)" in capsys.readouterr().out
    assert survey_main([]) == survey_main(["/none"]) == 2
    assert "usage" in capsys.readouterr().err
