"""The quarantine: which skills are never eligible, from a level, a list, or a file of both."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from roster.errors import RosterError
from roster.roster import Roster
from roster.skill import Skill
from roster.suspicion.hidden import without_unseen
from roster.suspicion.inspect import REVIEW_LEVEL, inspect_roster
from roster.suspicion.known import Known
from roster.suspicion.records import Suspicion
from roster.suspicion.stuffing import capped

QUARANTINE_LEVEL = 0.8
"""Suspicion from which a skill is never eligible, unless said otherwise."""

VARIABLE = "SKILL_ROUTER_QUARANTINE"
"""Environment variable: a quarantine file, a level, or ``off``."""


class QuarantineError(RosterError):
    """A quarantine that cannot be used; the message names file, key and remedy."""


class Defended(NamedTuple):
    """A roster after the quarantine.

    Attributes:
        roster: The eligible skills. The roster that was given, when nothing was changed.
        held: Why each of the others is not eligible, by name.
    """

    roster: Roster
    held: dict[str, str]


class Quarantine(BaseModel):
    """Who is never suggested.

    Attributes:
        level: Suspicion score from which a skill is quarantined, above 0 to 1; None asks for no
            score at all: then only `names` are held and texts are scored as they stand.
        names: Names, or digests as `roster list --json` prints them, that are never eligible.
        trusted: Names or digests that no suspicion holds. A digest trusts these bytes alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: float | None = Field(default=QUARANTINE_LEVEL, gt=0.0, le=1.0)
    names: frozenset[str] = frozenset()
    trusted: frozenset[str] = frozenset()

    @field_validator("level", mode="before")
    @classmethod
    def _off(cls, value: object) -> object:
        return None if value == "off" else value

    @classmethod
    def off(cls) -> Self:
        """A quarantine that holds nobody."""
        return cls(level=None)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Read a quarantine from a TOML file with the keys level, names and trusted.

        Raises:
            QuarantineError: If the file cannot be read or a key is wrong.
        """
        file = Path(path).expanduser()
        try:
            if file.exists() and not file.is_file():
                raise QuarantineError(f"{file}: is no regular file; give the path of a TOML file")
            data = tomllib.loads(file.read_text(encoding="utf-8"))
            return cls.model_validate(data)
        except OSError as error:
            raise QuarantineError(
                f"{file}: cannot be read ({error.strerror}); give a TOML file, a level or off"
            ) from error
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise QuarantineError(
                f'{file}: {key}: {first["msg"]}; the keys are level (above 0 to 1, or "off"), '
                "names and trusted (lists of names or digests)"
            ) from error
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
            raise QuarantineError(f"{file}: is not TOML ({error}); mend that line") from error

    @classmethod
    def of(cls, given: Self | str | os.PathLike[str] | None) -> Self:
        """The quarantine that an argument or an option stands for.

        Args:
            given: A quarantine; ``off``; a level such as ``0.6``; the path of a TOML file; or None
                for what `SKILL_ROUTER_QUARANTINE` says, else the default.

        Raises:
            QuarantineError: If it cannot be used.
        """
        if isinstance(given, cls):
            return given
        text = os.environ.get(VARIABLE, "") if given is None else os.fspath(given)  # type: ignore[arg-type]
        if not text:
            return cls()
        if text == "off":
            return cls.off()
        try:
            level = float(text)
        except ValueError:
            return cls.from_toml(text)
        if not 0.0 < level <= 1.0:
            raise QuarantineError(
                f"{text} is no level; give a number above 0, to 1, or off, or a TOML file"
            )
        return cls(level=level)

    def apply(self, roster: Roster, known: Known | None = None) -> Defended:
        """Take out who is not eligible, and cap what the suspicious others repeat.

        Args:
            roster: The roster.
            known: What earlier inspections found; it takes in what this one does.

        Returns:
            The eligible skills and why the others are held. A skill that stuffs its texts or hides
            characters, but stays below the level, is kept with texts in which repeated terms are
            capped and hidden characters taken out; its digest stays, since its bytes did not
            change. These texts are for scoring: an agent loads the skill from where it lies.
        """
        suspects: dict[str, Suspicion] = {}
        if self.level is not None:
            suspects = inspect_roster(roster, self.trusted_names(roster), known)
        held = self.held(roster, suspects)
        if not held and not any(_needs_capping(one) for one in suspects.values()):
            return Defended(roster, {})
        kept = (
            _defused(skill, suspects.get(skill.name)) for skill in roster if skill.name not in held
        )
        return Defended(type(roster)(kept, roster.problems), held)

    def held(self, roster: Roster, suspects: Mapping[str, Suspicion]) -> dict[str, str]:
        """Why skills of a roster are not eligible, by name.

        Args:
            roster: The roster.
            suspects: What `inspect_roster` says of it.
        """
        held = {
            skill.name: "named in the quarantine list"
            for skill in roster
            if skill.name in self.names or skill.digest in self.names
        }
        for name, suspicion in suspects.items():
            if self.level is not None and suspicion.score >= self.level:
                held.setdefault(name, f"suspicion {suspicion.score:.2f}: {suspicion.reason}")
        return held

    def trusted_names(self, roster: Roster) -> frozenset[str]:
        """The skills of a roster that are trusted."""
        return frozenset(
            skill.name
            for skill in roster
            if skill.name in self.trusted or skill.digest in self.trusted
        )


def review(roster: Roster, quarantine: Quarantine) -> list[dict[str, Any]]:
    """What `roster check` shows: suspicious and quarantined skills, the worst first.

    Args:
        roster: The roster.
        quarantine: Whose list, trusted skills and level count. Suspicion is shown from
            `REVIEW_LEVEL` on, or from the level if that is lower; whatever the level, also "off".

    Returns:
        For each skill ``name``, ``source``, ``score``, ``signs`` (``code``, ``points``,
        ``reason``), ``quarantined`` and ``reason``.
    """
    suspects = inspect_roster(roster, quarantine.trusted_names(roster))
    held = quarantine.held(roster, suspects)
    least = min(REVIEW_LEVEL, quarantine.level or REVIEW_LEVEL)
    shown = []
    for skill in roster:
        suspicion = suspects.get(skill.name, Suspicion(name=skill.name))
        if suspicion.score >= least or skill.name in held:
            shown.append(
                {
                    "name": skill.name,
                    "source": skill.source,
                    "score": round(suspicion.score, 4),
                    "quarantined": skill.name in held,
                    "reason": held.get(skill.name, suspicion.reason),
                    "signs": [sign.model_dump() for sign in suspicion.signs],
                }
            )
    return sorted(shown, key=lambda one: (-float(one["score"]), str(one["name"])))


def _needs_capping(suspicion: Suspicion) -> bool:
    return any(sign.code in ("repeated-terms", "hidden-text") for sign in suspicion.signs)


def _defused(skill: Skill, suspicion: Suspicion | None) -> Skill:
    if suspicion is None or not _needs_capping(suspicion):
        return skill
    texts = {
        "description": capped(without_unseen(skill.description)),
        "body": capped(without_unseen(skill.body)),
    }
    return skill.model_copy(update=texts)
