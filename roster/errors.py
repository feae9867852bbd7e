"""What goes wrong with a roster as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from roster.problem import Problem
from roster.text import visible


class RosterError(ValueError):
    """A roster cannot be loaded or asked for as requested. The message names the remedy."""


class RosterNotFoundError(RosterError):
    """The path of a roster does not exist or is of the wrong kind."""


class RosterFormatError(RosterError):
    """The content of a roster was refused.

    Attributes:
        problems: Every problem found, in file order.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Show the first ten problems, one a line."""
        self.problems = tuple(problems)
        shown = [str(problem) for problem in self.problems[:10]]
        more = len(self.problems) - len(shown)
        if more:
            shown.append(f"... and {more} more problems")
        super().__init__("\n".join(shown))


class DuplicateSkillError(RosterError):
    """Two skills of one roster have the same name.

    Attributes:
        name: The name.
        first: Where it was met first.
        second: Where it was met again.
    """

    def __init__(self, name: str, first: str, second: str) -> None:
        """Name the skill and both places."""
        self.name = name
        self.first = first
        self.second = second
        super().__init__(
            f"two skills are named {name!r}: {visible(first)} and {visible(second)}; rename one, "
            'or load with duplicates="first" or duplicates="namespace"'
        )
