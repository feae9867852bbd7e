"""The roster: an ordered, immutable collection of skills."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self, overload

from roster.errors import DuplicateSkillError, RosterError, RosterFormatError, RosterNotFoundError
from roster.problem import Problem
from roster.reading import decode, existing_path, read_bytes
from roster.skill import Skill

if TYPE_CHECKING:
    from roster.duplicates import Duplicates, Placed

_POLICIES = ("error", "first", "namespace")
_MAX_JSON_BYTES = 1 << 30


class Roster:
    """An ordered, immutable collection of skills with distinct names.

    Iterating gives the skills in order; ``roster[name]`` and ``roster[index]`` give one of them,
    ``name in roster`` and ``skill in roster`` tell whether it is there. Two rosters are equal when
    they hold equal skills in the same order.

    Args:
        skills: The skills in order.
        problems: What was odd when they were loaded.

    Raises:
        DuplicateSkillError: If two skills have the same name.
    """

    __slots__ = ("_by_name", "_digest", "_problems", "_skills")

    def __init__(self, skills: Iterable[Skill] = (), problems: Iterable[Problem] = ()) -> None:
        """Keep the skills in order and index them by name."""
        self._skills = tuple(skills)
        self._problems = tuple(problems)
        self._by_name: dict[str, Skill] = {}
        for skill in self._skills:
            other = self._by_name.setdefault(skill.name, skill)
            if other is not skill:
                raise DuplicateSkillError(
                    skill.name, other.source or "a skill in memory", skill.source or "another"
                )
        if len(self._by_name) != len(self._skills):
            raise RosterError("the same skill is given twice; give each skill once")
        joined = "\n".join(skill.digest for skill in self._skills)
        self._digest = hashlib.sha256(joined.encode("ascii")).hexdigest()

    @classmethod
    def from_skills(cls, skills: Iterable[Skill]) -> Self:
        """A roster of skills made in code.

        Args:
            skills: The skills in order.

        Raises:
            DuplicateSkillError: If two skills have the same name.
        """
        return cls(skills)

    @classmethod
    def from_directory(
        cls,
        path: str | os.PathLike[str],
        duplicates: Duplicates = "error",
        max_bytes: int = 1 << 20,
        strict: bool = False,
    ) -> Self:
        """Load every SKILL.md of a folder tree.

        A folder that is itself a skill works too. Files that are not quite right are read as a
        person would read them; what was odd about them is in `problems`.

        Args:
            path: The folder; ``~`` is expanded.
            duplicates: What to do when two skills have the same name: "error" raises and names
                both files, "first" keeps the one whose path sorts first, "namespace" puts the
                shortest path prefix that tells them apart before each name (``team-a:deploy``).
            max_bytes: Largest SKILL.md accepted, in bytes.
            strict: Whether any problem, warnings included, is an error.

        Returns:
            The roster, ordered by path; empty, with a problem, when no skill was found.

        Raises:
            RosterNotFoundError: If there is no such folder.
            DuplicateSkillError: If names clash and `duplicates` is "error".
            RosterFormatError: If `strict` and there is any problem.
            ValueError: If an argument is out of range.
        """
        from roster.duplicates import Placed
        from roster.loading import load_skills

        _check_policy(duplicates)
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, not {max_bytes}")
        root = existing_path(path)
        if not Path(root).is_dir():
            raise RosterNotFoundError(
                f"{root} is not a folder; give the folder that holds the skills, or load a .json "
                "or .jsonl file with Roster.from_json"
            )
        placed: list[Placed] = []
        problems: list[Problem] = []
        for found, skill, its_problems in load_skills(root, max_bytes):
            problems.extend(its_problems)
            if found is not None and skill is not None:
                placed.append(Placed(skill, found.parts, skill.source or found.path))
        return cls._settled(placed, problems, root, duplicates, strict)

    @classmethod
    def from_json(
        cls,
        path: str | os.PathLike[str],
        duplicates: Duplicates = "error",
        strict: bool = False,
    ) -> Self:
        """Load a JSON array of skills, or JSON Lines with one skill a line.

        A record has ``name`` and ``description``, and optionally ``category``, ``body``,
        ``requires``, ``version`` and ``description_full``; with the last, ``description`` is the
        short text for the index.

        Args:
            path: The file; ``~`` is expanded.
            duplicates: As in `from_directory`; "namespace" uses the category as prefix.
            strict: Whether any problem, warnings included, is an error.

        Returns:
            The roster in the order of the records.

        Raises:
            RosterNotFoundError: If there is no such file.
            RosterFormatError: If the JSON is malformed or a record is not a skill; the message
                names each line and field.
            DuplicateSkillError: If names clash and `duplicates` is "error".
        """
        from roster.duplicates import Placed
        from roster.records import read_records

        _check_policy(duplicates)
        file = existing_path(path)
        if Path(file).is_dir():
            raise RosterNotFoundError(f"{file} is a folder; load it with Roster.from_directory")
        data = read_bytes(os.path.realpath(file), _MAX_JSON_BYTES)
        if isinstance(data, Problem):
            raise RosterFormatError([data])
        text, problems = decode(data, file)
        skills, warnings = read_records(text, file)
        problems.extend(warnings)
        placed = [Placed(skill, (skill.category,), file, line) for line, skill in skills]
        return cls._settled(placed, problems, file, duplicates, strict)

    @classmethod
    def from_path(
        cls,
        path: str | os.PathLike[str],
        duplicates: Duplicates = "error",
        strict: bool = False,
    ) -> Self:
        """Load a roster of whatever kind: a folder, a .json or .jsonl file, or one SKILL.md.

        Args:
            path: The roster; ``~`` is expanded.
            duplicates: As in `from_directory`.
            strict: Whether any problem, warnings included, is an error.

        Raises:
            RosterNotFoundError: If there is nothing there, or a file of another kind.
            RosterError: As `from_directory` and `from_json`.
        """
        place = existing_path(path)
        if Path(place).is_dir():
            return cls.from_directory(place, duplicates, strict=strict)
        lower = place.lower()
        if lower.endswith((".json", ".jsonl", ".ndjson")):
            return cls.from_json(place, duplicates, strict)
        if Path(lower).name == "skill.md":
            return cls._of_file(place, strict)
        raise RosterNotFoundError(
            f"{place} is not a roster; give a folder of SKILL.md files, or a .json or .jsonl file"
        )

    @classmethod
    def bundled(cls) -> Self:
        """The roster that comes with the package."""
        return cls.from_directory(Path(__file__).parent / "bundled")

    @classmethod
    def _of_file(cls, path: str, strict: bool) -> Self:
        from roster.discover import Found
        from roster.duplicates import Placed
        from roster.loading import load_skill

        folder = Path(os.path.realpath(path)).parent.name
        skill, problems = load_skill(Found((), path), folder)
        placed = [] if skill is None else [Placed(skill, (), path)]
        return cls._settled(placed, problems, path, "error", strict)

    @classmethod
    def _settled(
        cls,
        placed: list[Placed],
        problems: list[Problem],
        path: str,
        duplicates: Duplicates,
        strict: bool,
    ) -> Self:
        from roster.duplicates import settle

        skills, more = settle(placed, duplicates)
        problems = [*problems, *more]
        if not skills:
            problems.append(
                Problem(
                    path=path,
                    severity="warning",
                    code="no-skills",
                    message="no skill was found here",
                    remedy="give a folder with SKILL.md files, or a file with skill records",
                )
            )
        if strict and problems:
            raise RosterFormatError(problems)
        return cls(skills, problems)

    @property
    def skills(self) -> tuple[Skill, ...]:
        """The skills in order."""
        return self._skills

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple(self._by_name)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd when the roster was loaded."""
        return self._problems

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over the digests of the skills in order.

        It changes when, and only when, the bytes of a skill or the order change. Moving a file
        changes neither, though it may change a category taken from a folder.
        """
        return self._digest

    def get(self, name: str) -> Skill | None:
        """The skill of a name, or None."""
        return self._by_name.get(name)

    def prompt(self, width: int = 60) -> str:
        """The index of the roster for a system prompt. See `roster.prompt.render_index`.

        Args:
            width: Longest description in characters, the closing ``...`` included; at least 4.
        """
        from roster.prompt import render_index

        return render_index(self._skills, width)

    def __len__(self) -> int:
        """How many skills there are."""
        return len(self._skills)

    def __iter__(self) -> Iterator[Skill]:
        """The skills in order."""
        return iter(self._skills)

    def __contains__(self, item: object) -> bool:
        """Whether a name, or exactly this skill, is in the roster."""
        if isinstance(item, Skill):
            return self._by_name.get(item.name) == item
        return item in self._by_name

    @overload
    def __getitem__(self, key: str | int) -> Skill: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Skill, ...]: ...
    def __getitem__(self, key: str | int | slice) -> Skill | tuple[Skill, ...]:
        """The skill of a name or position, or the skills of a slice."""
        if not isinstance(key, str):
            return self._skills[key]
        skill = self._by_name.get(key)
        if skill is None:
            near = difflib.get_close_matches(key, self._by_name, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise KeyError(f"no skill named {key[:80]!r} in the roster{hint}")
        return skill

    def __eq__(self, other: object) -> bool:
        """Whether both hold equal skills in the same order."""
        return self._skills == other._skills if isinstance(other, Roster) else NotImplemented

    def __hash__(self) -> int:
        """Hash of the digest."""
        return hash(self._digest)

    def __repr__(self) -> str:
        """Size and the start of the digest."""
        return f"Roster({len(self)} skills, digest={self._digest[:12]})"


def _check_policy(duplicates: str) -> None:
    if duplicates not in _POLICIES:
        raise ValueError(f"duplicates must be one of {', '.join(_POLICIES)}, not {duplicates!r}")
