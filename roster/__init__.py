"""Skills in, from disk or JSON, whatever state they are in; the roster prompt out."""

from roster.check import check
from roster.errors import DuplicateSkillError, RosterError, RosterFormatError, RosterNotFoundError
from roster.problem import Problem
from roster.roster import Roster
from roster.skill import Skill
from roster.text import is_safe_name

__all__ = [
    "DuplicateSkillError",
    "Problem",
    "Roster",
    "RosterError",
    "RosterFormatError",
    "RosterNotFoundError",
    "Skill",
    "check",
    "is_safe_name",
]
