"""The record of one skill."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from roster.text import MAX_NAME, encodable, is_safe_name, one_line

DEFAULT_CATEGORY = "general"
"""Category of a skill that names none and lies in no category folder."""

Text = Annotated[
    str, BeforeValidator(lambda value: encodable(value) if isinstance(value, str) else value)
]
"""A text without lone surrogates and NUL characters: each is replaced by U+FFFD."""


class Skill(BaseModel):
    """One skill, as a router or an agent sees it.

    Attributes:
        name: Safe name (see `roster.is_safe_name`): the only text of a skill that may ever be
            quoted to an agent on a turn.
        category: One line of at most 64 characters; ``general`` by default.
        description: The full description; may span lines.
        body: The instructions, without frontmatter; "" when there are none.
        source: Where it was read, or None.
        requires: Names of the tools without which the skill cannot be followed.
        version: The author's version, or None.
        index_description: The short text for the roster prompt, when the record carries one apart
            from the full description.
        digest: SHA-256 (hex) of the exact bytes of the file; for a JSON record, or a skill made
            in code, of its canonical JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    category: Text = DEFAULT_CATEGORY
    description: Text
    body: Text = ""
    source: Text | None = None
    requires: tuple[Text, ...] = ()
    version: Text | None = None
    index_description: Text | None = None
    digest: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")

    @field_validator("name")
    @classmethod
    def _name_is_safe(cls, name: str) -> str:
        if not is_safe_name(name):
            raise ValueError(_unsafe(name))
        return name

    @field_validator("category")
    @classmethod
    def _category_is_one_line(cls, category: str) -> str:
        return one_line(category)[:64].rstrip() or DEFAULT_CATEGORY

    @model_validator(mode="after")
    def _has_digest(self) -> Self:
        if not self.digest:
            fields = self.model_dump(mode="json", exclude={"digest", "source"})
            # The model is frozen for everyone but its own construction.
            self.__dict__["digest"] = digest_of_record(fields)
        return self

    def renamed(self, name: str) -> Self:
        """The same skill under another name. The digest stays: the bytes did not change.

        Raises:
            ValueError: If the name is not safe.
        """
        if not is_safe_name(name):
            raise ValueError(_unsafe(name))
        return self.model_copy(update={"name": name})


def _unsafe(name: str) -> str:
    return (
        f"the name {name[:80]!r} is not safe; use 1 to {MAX_NAME} letters, digits and '_-.+', "
        "in parts joined by ':' or '/'"
    )


def digest_of_bytes(data: bytes) -> str:
    """SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def digest_of_record(record: dict[str, Any]) -> str:
    """SHA-256 of a record's canonical JSON: sorted keys, no spaces, ASCII."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return digest_of_bytes(text.encode("ascii"))
