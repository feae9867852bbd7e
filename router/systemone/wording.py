"""The questions a System One model is asked: data in one file, replaceable, with a digest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from router.settings_file import load_settings

WHICH = "which"
"""Name of the choice question."""

GATE_PREFIX = "gate::"
FITS_PREFIX = "fits::"

GATE_FIELDS = {
    "acts_on_user_system": "acts_on_system",
    "would_follow_documented_procedure": "documented_procedure",
    "prose_suffices": "prose_suffices",
}
"""Name of a gate question on the wire, after the prefix, to the field of `Gate`."""


class GateWording(BaseModel):
    """The three questions about the request alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    acts_on_user_system: str = Field(min_length=1)
    would_follow_documented_procedure: str = Field(min_length=1)
    prose_suffices: str = Field(min_length=1)


class Wording(BaseModel):
    """Every sentence a System One model reads that is not the turn or a skill.

    Attributes:
        choose_wide: Instruction of the choice over the roster.
        choose_reread: Instruction of the choice over the shortlist.
        fits: Question about one candidate, with ``{name}`` and ``{description}``.
        gate: The three questions about the request.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    choose_wide: str = Field(min_length=1)
    choose_reread: str = Field(min_length=1)
    fits: str
    gate: GateWording

    @field_validator("fits")
    @classmethod
    def _has_placeholders(cls, text: str) -> str:
        if "{name}" not in text or "{description}" not in text:
            raise ValueError("needs the placeholders {name} and {description}")
        return text

    @classmethod
    def load(cls, path: str | Path | None = None) -> Self:
        """Read the wording from a JSON file; by default the one that comes with the package.

        Raises:
            RouterError: If the file cannot be used; the message names it and the field.
        """
        shipped = Path(__file__).parent / _FILE
        return load_settings(cls, shipped if path is None else path, "questions")

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over all sentences."""
        text = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def about(self, name: str, description: str) -> str:
        """The question whether a candidate fits."""
        # One pass: a description that holds "{name}" stays as it is.
        before, _, rest = self.fits.partition("{name}")
        if "{description}" in before:
            before = before.replace("{description}", description)
            return f"{before}{name}{rest}"
        return f"{before}{name}{rest.replace('{description}', description)}"


_FILE = "questions.json"
