"""SKILL.md files: their bytes, a folder of them, and what the command line prints of them."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path

from click.testing import CliRunner

from eval.fuzz.generate import SNIPPETS, Random, text
from eval.fuzz.target import Target, clean, require
from roster import Roster, Skill, is_safe_name
from roster.cli import roster as roster_command
from roster.loading import skill_from_bytes
from roster.problem import Problem

_SEEDS = (
    b"---\nname: kite-repair\ndescription: Mend torn kites.\n---\n# Kites\n\nGlue the spar.\n",
    b'---\r\nname: "a b"\r\ndescription: >-\r\n  Folded\r\n  text\r\nmetadata:\r\n  requires:\r\n'
    b"    - terminal\r\n---\r\nBody\r\n",
    b"---\nname: x\ndescription: look at PR #12: now\nallowed-tools: [Read, Bash(git:*)]\n---\n",
    "---\nname: caf\u00e9\ndescription: \u4e2d\u6587\nversion: 1.10\n---\nB\n".encode(),
    "---\nname: utf\ndescription: sixteen\n---\n".encode("utf-16"),
    b"# Title alone\n\nNo frontmatter at all.\n",
)
_KEYS = (
    "name", "description", "version", "category", "requires", "allowed-tools", "metadata", "title",
    "tags", "summary", "NAME", " name ", "<<", "? x", "&a a", "- b",
)  # fmt: skip
_VALUES = (
    "a", "'", '"', "|", ">-", "[a, b", "{a: b", "&x y", "*x", "!!binary aGk=", "2024-01-01", "1e3",
    "yes", "~", "a: b: c", "# c", "`x`", "@x", "%x", "- a\n  - b", "\n  nested:\n    deeper: 1",
)  # fmt: skip


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    folder = place / "skills"
    files = [folder / "one" / "SKILL.md", folder / "team" / "two" / "SKILL.md"]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_bytes(_SEEDS[0])
    runner = CliRunner()

    def feed_folder(data: bytes) -> bool:
        cut = len(data) // 2
        files[0].write_bytes(data)
        files[1].write_bytes(data[cut:])
        loaded = Roster.from_directory(folder, duplicates="first")
        for problem in loaded.problems:
            _check_problem(problem)
        for skill in loaded:
            _check_skill(skill)
        return len(loaded) > 0

    def feed_command(data: bytes) -> bool:
        files[0].write_bytes(data)
        files[1].write_bytes(_SEEDS[0])
        good = True
        for command in ("check", "list", "prompt"):
            result = runner.invoke(roster_command, [command, "--roster", str(folder)])
            error = result.exception
            if error is not None and not isinstance(error, SystemExit | ValueError):
                raise error
            if isinstance(error, ValueError):
                clean(error)
            _check_printed(result.output)
            good = good and result.exit_code == 0
        return good

    return [
        Target("skill-md", 22, _SEEDS, _build, _feed_bytes),
        Target("skill-folder", 2, _SEEDS, _build, feed_folder),
        Target("roster-command", 1, _SEEDS, _build, feed_command),
    ]


def _build(random: Random) -> bytes:
    lines = [random.choice(("---", "---", "---", "----", "", "```yaml\n---", "\u2014"))]
    for _ in range(random.randrange(8)):
        indent = random.choice(("", "", "", "  ", "\t"))
        value = random.choice((text(random), random.choice(_VALUES), "Some plain words."))
        lines.append(f"{indent}{random.choice(_KEYS)}{random.choice((': ', ':', ' : '))}{value}")
    if random.random() < 0.05:
        lines.append("a: " + "[" * 400)
    lines += [random.choice(("---", "---", "...", "")), text(random), text(random)]
    data = random.choice(("\n", "\n", "\r\n", "\r")).join(lines).encode("utf-8", "surrogatepass")
    if random.random() < 0.1:
        data += random.choice(SNIPPETS)
    return data


def _feed_bytes(data: bytes) -> bool:
    skill, problems = skill_from_bytes(data, "skills/x/SKILL.md", "x")
    for problem in problems:
        _check_problem(problem)
    if skill is None:
        require(any(problem.is_error for problem in problems), "no skill and no error")
        return False
    require(skill.digest == hashlib.sha256(data).hexdigest(), "a digest that is not of the bytes")
    require(skill_from_bytes(data, "skills/x/SKILL.md", "x") == (skill, problems), "two readings")
    _check_skill(skill)
    return True


def _check_skill(skill: Skill) -> None:
    require(is_safe_name(skill.name), f"an unsafe name: {skill.name!r}")
    require(Skill.model_validate_json(skill.model_dump_json()) == skill, "no way through JSON")
    prompt = Roster.from_skills([skill]).prompt()
    require(prompt.count("\n") <= 3, f"a skill on several lines of the index: {prompt!r}")
    _check_printed(prompt)


def _check_problem(problem: Problem) -> None:
    clean(str(problem), "SKILL.md" if "/" not in problem.path else "")
    require(bool(problem.remedy), "a problem without a remedy")


def _check_printed(printed: str) -> None:
    bad = [c for c in printed if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    require(not bad, f"control characters in what is printed: {bad[:5]!r}")
