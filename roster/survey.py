"""Count what a folder tree of skills yields: ``python -m roster.survey PATH``."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from roster.loading import load_skills
from roster.problem import Problem
from roster.text import is_safe_name


@dataclass
class Survey:
    """What was found.

    Attributes:
        files: SKILL.md files.
        skills: Files that gave a skill.
        usable: Skills with a safe name and a description that someone wrote.
        codes: Files with each kind of problem.
        unusable: Problems of the files that gave no usable skill.
        seconds: Time taken to find, read and understand them all.
    """

    files: int = 0
    skills: int = 0
    usable: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    unusable: list[Problem] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        """The survey as lines of text."""
        share = 100 * self.usable / self.files if self.files else 0.0
        lines = [
            f"files     {self.files}",
            f"skills    {self.skills}",
            f"usable    {self.usable} ({share:.2f} %)",
            f"seconds   {self.seconds:.1f}",
            "problems, by the number of files that have them:",
            *(f"  {count:7d}  {code}" for code, count in self.codes.most_common()),
        ]
        lines += [f"not usable: {problem}" for problem in self.unusable[:20]]
        return "\n".join(lines)


def survey(root: str | Path) -> Survey:
    """Read a folder tree and count. Skills of equal names all count.

    Args:
        root: The folder.
    """
    start = time.perf_counter()
    result = Survey()
    for found, skill, problems in load_skills(str(root)):
        result.codes.update({problem.code for problem in problems})
        if found is None:
            continue
        result.files += 1
        result.skills += skill is not None
        guessed = any(problem.code == "description-unknown" for problem in problems)
        if skill and is_safe_name(skill.name) and skill.description.strip() and not guessed:
            result.usable += 1
        else:
            result.unusable += [
                problem
                for problem in problems
                if problem.is_error or problem.code == "description-unknown"
            ]
    result.seconds = time.perf_counter() - start
    return result


def main(arguments: list[str]) -> int:
    """Print the survey of the folder named by the only argument; return the exit status."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m roster.survey FOLDER", file=sys.stderr)
        return 2
    print(survey(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
