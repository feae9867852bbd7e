"""Equally reasonable wordings and orders, and what each makes of a roster."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from roster import Roster, RosterError, Skill
from roster.text import field_path
from router.block import BlockTemplate

ORIGINAL = "original"
"""Name of the roster and the block as they are; always among the variants."""


class SensitivityError(ValueError):
    """Variants that cannot be measured; the message names where and the remedy."""


class Variant(BaseModel):
    """One way to say or to order the same thing.

    Attributes:
        name: What it is called in the report.
        descriptions: Skill name to its description in this variant.
        block: Another wording of the block; None keeps the measured one.
        shuffle: Seed of another order of the skills; None keeps theirs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=80)
    descriptions: dict[str, str] = {}
    block: BlockTemplate | None = None
    shuffle: int | None = None

    @field_validator("name")
    @classmethod
    def _name_prints(cls, name: str) -> str:
        if not name.isprintable():
            raise ValueError("holds a control or hidden character; use plain text")
        return name

    @property
    def kind(self) -> str:
        """What it changes: "description", "block", "order", joined by "+"; or "original"."""
        changed = {
            "description": bool(self.descriptions),
            "block": self.block is not None,
            "order": self.shuffle is not None,
        }
        return "+".join(kind for kind, is_so in changed.items() if is_so) or ORIGINAL


@dataclass(frozen=True)
class Setup:
    """A variant applied.

    Attributes:
        name: Name of the variant.
        kind: What it changes.
        roster: The skills, in its order and with its descriptions.
        template: Its wording of the block.
        ordered: Whether the order of the skills is part of the variant.
    """

    name: str
    kind: str
    roster: Roster
    template: BlockTemplate
    ordered: bool


def shuffles(count: int, seed: int = 0) -> list[Variant]:
    """Variants that only change the order of the skills."""
    return [Variant(name=f"order-{n}", shuffle=seed + n) for n in range(1, count + 1)]


def set_up(variant: Variant, roster: Roster) -> Setup:
    """Apply a variant to a roster.

    Raises:
        SensitivityError: If it describes a skill that the roster does not have.
    """
    skills = [
        described(skill, variant.descriptions[skill.name])
        if skill.name in variant.descriptions
        else skill
        for skill in roster
    ]
    unknown = [name for name in variant.descriptions if name not in roster]
    if unknown:
        raise SensitivityError(
            f"variant {variant.name!r}: the roster has no skill {unknown[0][:80]!r}; mend the name"
        )
    if variant.shuffle is not None:
        random.Random(variant.shuffle).shuffle(skills)
    return Setup(
        name=variant.name,
        kind=variant.kind,
        roster=Roster(skills) if variant.kind not in (ORIGINAL, "block") else roster,
        template=variant.block or BlockTemplate(),
        ordered=variant.shuffle is not None,
    )


def described(skill: Skill, description: str) -> Skill:
    """The skill with another description, under a digest of its own: it is another candidate."""
    fields = skill.model_dump(exclude={"digest", "description", "index_description"})
    return Skill.model_validate({**fields, "description": description})


def read_variants(path: str | Path, roster: Roster) -> list[Variant]:
    """Read variants from a TOML file.

    Each ``[[variant]]`` has a ``name`` and at least one of: ``[variant.descriptions]`` (skill to
    text), ``roster`` (a roster of the same skills, relative to the file, whose descriptions are
    taken), ``[variant.block]`` (``suggested``, ``silent``), ``shuffle`` (a seed).

    Args:
        path: The file.
        roster: The roster they vary.

    Returns:
        At least one variant.

    Raises:
        SensitivityError: If the file, or a roster it names, cannot be used.
    """
    path = Path(path).expanduser()
    tables = _tables(path)
    variants: list[Variant] = []
    seen = {ORIGINAL}
    for number, table in enumerate(tables, start=1):
        where = f"{path}: variant {number}"
        variant = _variant(where, path, dict(table), roster)
        if variant.name in seen:
            raise SensitivityError(
                f"{where}: name: {variant.name!r} is taken; give each variant a name of its own"
            )
        if variant.kind == ORIGINAL:
            raise SensitivityError(
                f"{where}: changes nothing; give descriptions, roster, block or shuffle"
            )
        try:
            set_up(variant, roster)
        except SensitivityError as error:
            raise SensitivityError(f"{path}: {error}") from error
        seen.add(variant.name)
        variants.append(variant)
    return variants


def _tables(path: Path) -> Sequence[dict[str, Any]]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SensitivityError(
            f"{path}: cannot be read ({error.strerror}); give a TOML file"
        ) from error
    except UnicodeDecodeError as error:
        raise SensitivityError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise SensitivityError(f"{path}: is not TOML: {error}; mend that line") from error
    tables = data.pop("variant", None)
    if data:
        raise SensitivityError(
            f"{path}: {field_path([next(iter(data))])}: is unknown; write [[variant]] tables"
        )
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise SensitivityError(f"{path}: holds no variants; write one [[variant]] table for each")
    return tables


def _variant(where: str, path: Path, table: dict[str, Any], roster: Roster) -> Variant:
    other = table.pop("roster", None)
    if other is not None:
        if not isinstance(other, str):
            raise SensitivityError(f"{where}: roster: is not a path; give a text")
        own = table.get("descriptions", {})
        if isinstance(own, dict):  # anything else is refused below
            table["descriptions"] = {**_descriptions(where, path.parent / other, roster), **own}
    try:
        variant = Variant.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        field = field_path(first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise SensitivityError(f"{where}: {field}: {message}") from error
    blank = [name for name, text in variant.descriptions.items() if not text.strip()]
    if blank:
        raise SensitivityError(
            f"{where}: descriptions.{field_path([blank[0]])}: is blank; give a description"
        )
    return variant


def _descriptions(where: str, path: Path, roster: Roster) -> dict[str, str]:
    try:
        other = Roster.from_path(path)
    except RosterError as error:
        raise SensitivityError(f"{where}: roster: {error}") from error
    lacking = [name for name in roster.names if name not in other]
    if lacking:
        raise SensitivityError(
            f"{where}: roster: {path} has no skill {lacking[0]!r}; give one with the same skills"
        )
    return {
        name: other[name].description
        for name in roster.names
        if other[name].description != roster[name].description
    }
