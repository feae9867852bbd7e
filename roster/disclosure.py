"""Progressive disclosure: a line for each active skill, its instructions once they are loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from roster.errors import RosterError
from roster.loaded import LoadedSkillSet
from roster.skill import Skill
from roster.text import one_line

Mode = Literal["progressive", "eager"]
"""Whether a skill's instructions are shown once it is loaded, or always."""


class DisclosureError(RosterError):
    """The active skills exceed a cap; nothing was rendered. The message names skill and cap."""


class DisclosureCaps(BaseModel):
    """How much of the skills a prompt may hold.

    Attributes:
        entries: Active skills, at most 256.
        description_bytes: One description, at most 4 KiB.
        body_bytes: One body, at most 256 KiB.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    entries: int = Field(default=64, ge=1, le=256)
    description_bytes: int = Field(default=512, ge=1, le=4 << 10)
    body_bytes: int = Field(default=32 << 10, ge=1, le=256 << 10)


class SkillSection(BaseModel):
    """What a prompt shows of one skill.

    Attributes:
        name: The skill.
        catalog: Its line: ``Skill NAME: DESCRIPTION``.
        body: ``Skill NAME:`` and the instructions below it, when they are shown; else None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    catalog: str
    body: str | None = None

    @property
    def text(self) -> str:
        """The body where it is shown, else the line."""
        return self.catalog if self.body is None else self.body


def disclose(
    active: Iterable[Skill],
    loaded: LoadedSkillSet | None = None,
    mode: Mode = "progressive",
    caps: DisclosureCaps | None = None,
    demoted: Collection[str] = (),
) -> tuple[SkillSection, ...]:
    """What a prompt shows of the active skills.

    Args:
        active: The active skills in order, as `SkillRegistry.resolve_active` gives them.
        loaded: What the session has loaded: shown with its instructions in mode "progressive".
        mode: "progressive" or "eager".
        caps: Limits.
        demoted: Skills that show their line alone whatever else holds.

    Returns:
        One section a skill, in order.

    Raises:
        DisclosureError: If there are too many skills, or a description or a body that would be
            shown is too large. Nothing is ever cut to fit.
        ValueError: If there is no such mode.
    """
    if mode not in ("progressive", "eager"):
        raise ValueError(f"the mode is progressive or eager, not {mode!r}")
    caps = caps or DisclosureCaps()
    skills = tuple(active)
    if len(skills) > caps.entries:
        raise DisclosureError(
            f"{len(skills)} skills are active; at most {caps.entries} are shown: activate fewer"
        )
    return tuple(
        SkillSection(
            name=skill.name,
            catalog=_catalog(skill, caps),
            body=_body(skill, loaded, caps)
            if skill.name not in demoted
            and (mode == "eager" or (loaded is not None and skill.name in loaded))
            else None,
        )
        for skill in skills
    )


def render(sections: Iterable[SkillSection]) -> str:
    """The text of the sections: lines below one another, bodies set apart by a blank line."""
    text = ""
    before: SkillSection | None = None
    for section in sections:
        if before is not None:
            text += "\n" if before.body is None and section.body is None else "\n\n"
        text += section.text
        before = section
    return text


def check_body(skill: Skill, body: str, caps: DisclosureCaps) -> str:
    """A body that may be shown.

    Raises:
        DisclosureError: If it is larger than the cap.
    """
    size = len(body.encode("utf-8", "surrogatepass"))
    if size > caps.body_bytes:
        raise DisclosureError(
            f"the instructions of {skill.name!r} have {size} bytes; at most {caps.body_bytes} "
            "are shown: move material into files beside SKILL.md, or raise body_bytes"
        )
    return body


def _catalog(skill: Skill, caps: DisclosureCaps) -> str:
    # One line that cannot close a tag of the prompt around it.
    description = one_line(skill.description).replace("</", "< /") or "(no description)"
    size = len(description.encode("utf-8", "surrogatepass"))
    if size > caps.description_bytes:
        raise DisclosureError(
            f"the description of {skill.name!r} has {size} bytes; at most "
            f"{caps.description_bytes} are shown: shorten it, or raise description_bytes"
        )
    return f"Skill {skill.name}: {description}"


def _body(skill: Skill, loaded: LoadedSkillSet | None, caps: DisclosureCaps) -> str:
    restored = loaded.restored_body(skill.name) if loaded is not None else None
    body = skill.body if restored is None else restored
    return f"Skill {skill.name}:\n{check_body(skill, body, caps)}"
