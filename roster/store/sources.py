"""From a TOML file or a SKILL.md folder to a version that can be staged."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from roster.frontmatter import parse_frontmatter
from roster.loading import skill_from_bytes
from roster.opening import opening
from roster.problem import Problem
from roster.reading import DEFAULT_MAX_BYTES, decode, read_bytes
from roster.skill import DEFAULT_CATEGORY, Text
from roster.store.errors import StageRefusedError
from roster.store.files import collect_files
from roster.store.records import Label, SkillVersion, Staging, canonical_json, sha256
from roster.text import encodable, one_line, visible

MAX_TOML_BYTES = 16_384
"""Largest one-file skill, in bytes."""

_ODD = frozenset({"name-unsafe", "name-missing", "description-missing", "description-says-nothing",
                  "description-unknown", "not-utf-8", "nul"})  # fmt: skip
# Frontmatter that a YAML parser rejects, such as a description with ": ", has one plain reading,
# the one a roster gives it. Whatever could mean two things is refused.
_REPAIRED = frozenset({"yaml-rejected", "description-cut-by-comment"})
_OWN_FIELDS = frozenset({"name", "version", "description", "category", "requires"})
# The Agent Skills specification, and what agents in use read besides.
_KNOWN_FIELDS = _OWN_FIELDS.union(
    ("license", "compatibility", "metadata", "allowed-tools"),
    ("requires_tools", "required_tools", "requires_toolsets", "when_to_use", "when-to-use"),
    ("summary", "title", "author", "authors", "tags", "keywords", "triggers", "platforms"),
    ("environments", "dependencies", "prerequisites", "toolsets", "setup"),
    ("required_environment_variables", "required_credential_files", "argument-hint"),
    ("disable-model-invocation", "user-invocable", "model", "context", "agent", "hooks"),
    ("effort", "paths", "shell"),
)

_Model = TypeVar("_Model", bound=BaseModel)


class _TomlSkill(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    version: Label
    instructions: Annotated[Text, Field(min_length=1, max_length=8192)]
    requires: Annotated[list[Text], Field(max_length=16)] = []
    description: Annotated[Text, Field(max_length=1536)] = ""
    category: Text = DEFAULT_CATEGORY


def read_source(path: str | os.PathLike[str], version: str | None = None) -> Staging:
    """Read and validate a skill.

    Args:
        path: A folder with a SKILL.md, a SKILL.md, or a one-file skill in TOML.
        version: The label, for a SKILL.md that names none.

    Returns:
        The version, ready for `Shelf.stage`.

    Raises:
        StageRefusedError: If it cannot be read within bounds, or anything of it could mean two
            things. Frontmatter that only a YAML parser rejects is read as a roster reads it;
            `Staging.repairs` says so. What is staged is what will be evaluated.
    """
    place = str(Path(path).expanduser())
    if Path(place).is_dir():
        return _from_folder(Path(place), version)
    if Path(place).name.lower() == "skill.md":
        return _from_folder(Path(place).parent, version, Path(place).name)
    if place.lower().endswith(".toml"):
        if version is not None:
            raise StageRefusedError(f"{place}: names its own version; leave --version out")
        return _from_toml(place)
    if not os.path.lexists(place):
        raise StageRefusedError(f"{visible(place)}: does not exist; check the path")
    raise StageRefusedError(
        f"{visible(place)}: is no skill; give a folder with a SKILL.md, or a .toml file"
    )


def _from_toml(path: str) -> Staging:
    data = _read(path, MAX_TOML_BYTES)
    try:
        fields = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise StageRefusedError(
            f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise StageRefusedError(f"{path}: is not TOML: {error}; mend that line") from None
    skill = _validated(_TomlSkill, fields, path)
    record = SkillVersion(
        name=skill.name,
        version=skill.version,
        description=skill.description or opening(skill.instructions),
        category=one_line(skill.category)[:64] or DEFAULT_CATEGORY,
        instructions=skill.instructions,
        requires=tuple(skill.requires),
    )
    return Staging(record=record, source_sha256=sha256(data))


def _from_folder(folder: Path, version: str | None, file: str | None = None) -> Staging:
    path = str(folder / (file or _skill_file(folder)))
    data = _read(path, DEFAULT_MAX_BYTES)
    text, _ = decode(data, path)
    front = parse_frontmatter(text)
    repairs = []
    for note in front.notes:
        if note.code not in _REPAIRED:
            raise StageRefusedError(f"{path}:{note.line}: {note.message}; {note.remedy}")
        repairs.append(
            f"line {note.line}: {note.message}, read as a roster reads it; {note.remedy}"
        )
    unknown = [key for key in front.fields if key not in _KNOWN_FIELDS]
    if unknown:
        key = unknown[0]
        raise StageRefusedError(
            f"{path}:{front.lines.get(key, 1)}: the field {visible(key[:60])!r} is unknown; correct"
            " its spelling, or put it under metadata:"
        )
    skill, problems = skill_from_bytes(data, path, Path(os.path.realpath(folder)).name)
    for problem in problems:
        if problem.is_error or problem.code in _ODD:
            raise StageRefusedError(str(problem))
    label = skill.version if skill is not None else None
    if label is None and version is None:
        raise StageRefusedError(
            f"{path}:1: there is no version; write version: 1 in the frontmatter, or give --version"
        )
    if label is not None and version not in (None, label):
        raise StageRefusedError(
            f"{path}:{front.lines.get('version', 1)}: names the version {visible(label)!r}, not "
            f"{version!r}; leave --version out, or correct the file"
        )
    assert skill is not None  # a skill, or an error above
    collected = collect_files(folder, Path(path).name, text)
    record = _validated(
        SkillVersion,
        {
            "name": skill.name,
            "version": label or version,
            "description": skill.description,
            "category": skill.category,
            "instructions": skill.body,
            "requires": skill.requires,
            "frontmatter": {k: v for k, v in front.fields.items() if k not in _OWN_FIELDS},
            "files": collected.listed,
        },
        path,
        front.lines,
    )
    # The source is the SKILL.md and every file that counts, each by its path.
    parts = [["SKILL.md", sha256(data)], *([f.path, f.sha256] for f in collected.listed)]
    digest = sha256(canonical_json(parts).encode("ascii")) if collected.listed else sha256(data)
    return Staging(
        record=record,
        source_sha256=digest,
        data=collected.data,
        unlisted=collected.unlisted,
        missing=collected.missing,
        repairs=tuple(repairs),
    )


def _skill_file(folder: Path) -> str:
    try:
        names = sorted(p.name for p in folder.iterdir() if p.name.lower() == "skill.md")
    except OSError as error:
        raise StageRefusedError(f"{folder}: cannot be read ({error.strerror})") from None
    if not names:
        raise StageRefusedError(f"{folder}: holds no SKILL.md; give the folder of one skill")
    return names[0]


def _read(path: str, limit: int) -> bytes:
    data = read_bytes(path, limit)
    if isinstance(data, Problem):
        raise StageRefusedError(str(data))
    return data


def _validated(
    model: type[_Model], fields: dict[str, Any], path: str, lines: dict[str, int] | None = None
) -> _Model:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0]) if first["loc"] else "the file"
        where = f"{path}:{lines[field]}" if lines and field in lines else path
        if first["type"] == "extra_forbidden":
            what = f"is unknown; the fields are {', '.join(model.model_fields)}"
        elif first["type"] == "missing":
            what = "is missing; write it"
        elif field == "instructions" and first["type"].endswith("too_short"):
            what = "is empty; write what the agent shall do"
        else:
            what = f"{first['msg'][0].lower()}{first['msg'][1:]}; correct it"
        raise StageRefusedError(f"{where}: {visible(encodable(field[:60]))}: {what}") from None
