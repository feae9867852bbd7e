"""The records a store keeps: immutable versions, and the events that decided about them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from roster.roster import Roster
from roster.skill import DEFAULT_CATEGORY, Skill, Text
from roster.store.errors import StoreError
from roster.text import is_safe_name

MAX_INSTRUCTIONS = 1 << 20
"""Most characters of a skill's instructions."""

MAX_REQUIRES = 64
"""Most required tools."""


def _safe(name: str) -> str:
    if not is_safe_name(name):
        raise ValueError("is not a safe name; use letters, digits and hyphens")
    return name


SafeName = Annotated[str, AfterValidator(_safe)]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,64}$")]
"""A version label: it names a content, and promises no order."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Versioned(BaseModel):
    """A content under a name and a version label. Subclasses set `kind`.

    Attributes:
        name: What it is a version of.
        version: The label.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    kind: ClassVar[str]

    name: SafeName
    version: Label

    def canonical(self) -> str:
        """The content as JSON with sorted keys and no spaces: what a version's digest is of."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of `canonical`."""
        return sha256(self.canonical().encode("ascii"))


class ListedFile(BaseModel):
    """A file of a skill folder that is part of the version.

    Attributes:
        path: Relative to the folder, with ``/``.
        sha256: Of its bytes, in hex.
        size: In bytes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    path: str = Field(min_length=1)
    sha256: Sha256
    size: int = Field(ge=0)


class SkillVersion(Versioned):
    """One immutable version of a skill.

    Attributes:
        description: What decides whether the skill is picked.
        category: Where the index lists it.
        instructions: What the agent reads once it is loaded.
        requires: Tools without which it cannot be followed. Naming one grants nothing.
        frontmatter: The other fields of a SKILL.md, as they were written.
        files: The files that count. One that is not listed is not part of what was evaluated.
    """

    kind: ClassVar[str] = "skill"

    description: Text = ""
    category: Text = DEFAULT_CATEGORY
    instructions: Text = Field(min_length=1, max_length=MAX_INSTRUCTIONS)
    requires: Annotated[tuple[Text, ...], Field(max_length=MAX_REQUIRES, strict=False)] = ()
    frontmatter: dict[str, Any] = {}
    files: Annotated[tuple[ListedFile, ...], Field(strict=False)] = ()

    def skill(self) -> Skill:
        """The version as a skill of a roster; its digest is that of the content."""
        return Skill(
            name=self.name,
            category=self.category,
            description=self.description,
            body=self.instructions,
            requires=self.requires,
            version=self.version,
            digest=self.digest,
        )


Record = TypeVar("Record", bound=Versioned)

_MEND = "run skill-router skills check, and restore a copy of the store"


class Staging(BaseModel):
    """A validated source, ready to be staged.

    Attributes:
        record: The content.
        source_sha256: Of the exact bytes of the source; a comment changes it, and not the content.
        data: Bytes of the listed files by their SHA-256.
        unlisted: Files of the folder that nothing refers to: not part of the version.
        missing: Files that the text links to and that are not there.
        repairs: What was wrong with the source and is read as a roster reads it.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    record: Versioned
    source_sha256: Sha256
    data: dict[str, bytes] = {}
    unlisted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


class Stored(BaseModel):
    """A row of the store.

    Attributes:
        kind: "skill", "profile", ...
        name: The name.
        version: The label.
        content: Canonical JSON of the record.
        content_sha256: Its digest.
        source_sha256: Digest of the first source staged under this label.
        staged_at: When, UTC, ISO 8601.
        active: Whether it is the active version of its name.
        retired: Whether it may never be activated again.
    """

    model_config = ConfigDict(frozen=True)

    kind: str
    name: str
    version: str
    content: str
    content_sha256: str
    source_sha256: str
    staged_at: str
    active: bool
    retired: bool

    @property
    def state(self) -> str:
        """ "active", "retired" or "staged"."""
        return "active" if self.active else "retired" if self.retired else "staged"

    def record(self, model: type[Record]) -> Record:
        """The content as a record.

        Args:
            model: The record's class.

        Raises:
            StoreError: If the content is not what was staged.
        """
        what = f"{self.kind} {self.name} {self.version}"
        if sha256(self.content.encode("utf-8", "surrogatepass")) != self.content_sha256:
            raise StoreError(f"{what}: the content was changed in the store; {_MEND}")
        try:
            return model.model_validate_json(self.content)
        except ValidationError as error:
            raise StoreError(f"{what}: the content is no such record; {_MEND}") from error


class Event(BaseModel):
    """One decision, kept for ever.

    Attributes:
        id: Ascending.
        at: When, UTC, ISO 8601.
        kind: Of the record it is about.
        name: Of the record.
        version: Of the record.
        decision: "staged", "stage_refused", "activated", "activation_refused", "rolled_back",
            "retired" or "imported".
        evidence: What it rests on.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    at: str
    kind: str
    name: str
    version: str
    decision: str
    evidence: dict[str, Any]


class Evaluation(BaseModel):
    """What an evaluator answers.

    Attributes:
        results: Case name to True. Anything but True itself counts as failed.
        evidence: Whatever explains the results; kept with the decision.
        reasons: By name of a failed case, why it failed; part of the refusal's message.
    """

    model_config = ConfigDict(frozen=True)

    results: Mapping[str, Any]
    evidence: dict[str, Any] = {}
    reasons: dict[str, str] = {}


class Snapshot(BaseModel):
    """Everything that was active at one moment.

    Attributes:
        digest: SHA-256 (hex) over kind, name, version, content and source of each, in order.
        rows: The active versions, ordered by kind and name.
    """

    model_config = ConfigDict(frozen=True)

    digest: Sha256
    rows: tuple[Stored, ...] = ()

    def of(self, kind: str) -> tuple[Stored, ...]:
        """The active versions of one kind."""
        return tuple(row for row in self.rows if row.kind == kind)

    @property
    def skills(self) -> tuple[SkillVersion, ...]:
        """The active skills, by name."""
        return tuple(row.record(SkillVersion) for row in self.of(SkillVersion.kind))

    def roster(self) -> Roster:
        """The active skills as a roster."""
        return Roster.from_skills(version.skill() for version in self.skills)


def canonical_json(value: Any) -> str:
    """JSON in its one canonical form: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sha256(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()
