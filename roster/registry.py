"""The skills a host has, and the ones that are active in a run."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from roster.context import ContextProvider
from roster.errors import DuplicateSkillError, RosterError
from roster.skill import Skill
from roster.text import visible

Policy = Literal["error", "keep", "replace"]
"""What happens to a second skill of one name: "error" raises, "keep" leaves the first in place,
"replace" puts the second there."""


class ActivationError(RosterError):
    """Skills cannot be activated as asked; nothing has been sent.

    Attributes:
        skill: The skill's name.
        tools: The tools it requires and the run does not have; () when that is not the fault.
        code: ``unknown``, ``duplicate`` or ``missing_tool``.
    """

    def __init__(self, code: str, skill: str, message: str, tools: tuple[str, ...] = ()) -> None:
        """Keep what is wrong beside the sentence that says it."""
        super().__init__(message)
        self.code, self.skill, self.tools = code, skill, tools


class SkillRegistry:
    """Skills by name, with the context providers that come with them. Nothing in it is active.

    Args:
        skills: The first skills, for example a `Roster`.
        duplicates: What to do with a second skill of one name.

    Raises:
        DuplicateSkillError: If two have one name and `duplicates` is "error".
        ValueError: If there is no such policy.
    """

    def __init__(self, skills: Iterable[Skill] = (), duplicates: Policy = "error") -> None:
        if duplicates not in ("error", "keep", "replace"):
            raise ValueError(f"duplicates is error, keep or replace, not {duplicates!r}")
        self._duplicates = duplicates
        self._skills: dict[str, Skill] = {}
        self._context: dict[str, tuple[ContextProvider, ...]] = {}
        for skill in skills:
            self.register(skill)

    def register(self, skill: Skill, context: Iterable[ContextProvider] = ()) -> None:
        """Add a skill.

        Args:
            skill: The skill.
            context: Providers whose blocks are sent in runs where the skill is active, in order.

        Raises:
            DuplicateSkillError: If the name is taken and the policy is "error".
        """
        other = self._skills.get(skill.name)
        if other is not None:
            if self._duplicates == "error":
                raise DuplicateSkillError(
                    skill.name, other.source or "a skill in memory", skill.source or "another"
                )
            if self._duplicates == "keep":
                return
        self._skills[skill.name] = skill
        self._context[skill.name] = tuple(context)

    def get(self, name: str) -> Skill | None:
        """The skill of a name, or None."""
        return self._skills.get(name)

    def providers(self, name: str) -> tuple[ContextProvider, ...]:
        """The context providers that came with a skill; () for none."""
        return self._context.get(name, ())

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they were first registered."""
        return tuple(self._skills)

    def __len__(self) -> int:
        """How many skills there are."""
        return len(self._skills)

    def __iter__(self) -> Iterator[Skill]:
        """The skills in order."""
        return iter(tuple(self._skills.values()))

    def __contains__(self, name: object) -> bool:
        """Whether a name is registered."""
        return name in self._skills

    def resolve_active(self, names: Iterable[str], tools: Iterable[str]) -> tuple[Skill, ...]:
        """The skills that are active in a run, before anything is sent.

        Args:
            names: Names of the skills to activate. None are active by default.
            tools: Names of the tools the run has. A skill can require tools; it never brings any.

        Returns:
            The skills in the order of the names.

        Raises:
            ActivationError: If a name is unknown or given twice, or a skill requires a tool the
                run does not have. The message names the skill and the tools.
            TypeError: If `names` or `tools` is a single string.
        """
        if isinstance(names, str) or isinstance(tools, str):
            raise TypeError("names and tools are lists of names; put a single one into a list")
        allowed = frozenset(tools)
        active: dict[str, Skill] = {}
        for name in names:
            skill = self._skills.get(name)
            if skill is None:
                raise ActivationError("unknown", str(name), self._unknown(str(name)))
            if name in active:
                raise ActivationError(
                    "duplicate", name, f"the skill {name!r} is activated twice; name it once"
                )
            missing = missing_tools(skill, allowed)
            if missing:
                raise ActivationError(
                    "missing_tool",
                    name,
                    f"the skill {name!r} requires {_listed(missing)}, which this run does not "
                    "have; allow them or leave the skill out",
                    missing,
                )
            active[name] = skill
        return tuple(active.values())

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name[:128], self._skills, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "register it first"
        return f"no skill named {visible(name[:80])!r} is registered; {hint}"


def missing_tools(skill: Skill, tools: Iterable[str] | Mapping[str, object]) -> tuple[str, ...]:
    """The tools a skill requires that are not among those given, in the skill's order."""
    allowed = frozenset(tools)
    return tuple(dict.fromkeys(tool for tool in skill.requires if tool not in allowed))


def _listed(tools: tuple[str, ...]) -> str:
    shown = ", ".join(repr(visible(tool[:80])) for tool in tools[:10])
    return f"{'the tool' if len(tools) == 1 else 'the tools'} {shown}"
