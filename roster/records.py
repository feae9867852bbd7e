"""Rosters in JSON: an array of records, or one record a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from roster.check import check_skill
from roster.errors import RosterFormatError
from roster.problem import Problem
from roster.skill import DEFAULT_CATEGORY, Skill, Text, digest_of_record
from roster.text import encodable, field_path, is_safe_name, slug

_SPACE = re.compile(r"[ \t\r\n]*")


class SkillRecord(BaseModel):
    """A skill as JSON rosters write it; other fields are ignored.

    Attributes:
        name: Required.
        description: Required: the full one, unless `description_full` is given.
        description_full: The full description, where `description` is a short one for the index.
        category: Optional.
        body: Optional instructions.
        requires: Optional tool names.
        version: Optional; text or number.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    name: Text = Field(min_length=1)
    description: Text
    description_full: Text | None = None
    category: Text | None = None
    body: Text | None = None
    requires: list[Text] | None = None
    version: Text | int | float | None = None


class _BadJsonError(ValueError):
    pass


def read_records(text: str, path: str) -> tuple[list[tuple[int, Skill]], list[Problem]]:
    """Read the skills of a JSON roster.

    Args:
        text: The decoded file.
        path: The file, for sources and problems.

    Returns:
        Skills with their 1-based lines, and warnings.

    Raises:
        RosterFormatError: If the JSON is malformed or a record is not a skill; it holds one
            problem for every bad record.
    """
    skills: list[tuple[int, Skill]] = []
    problems: list[Problem] = []
    errors: list[Problem] = []
    for line, record in _records(text, path, errors):
        skill = _skill(record, path, line, problems, errors)
        if skill is not None:
            skills.append((line, skill))
    if errors:
        raise RosterFormatError(errors)
    return skills, problems


def _records(text: str, path: str, errors: list[Problem]) -> Iterator[tuple[int, Any]]:
    start = _skip(text, 0)
    if text[start : start + 1] == "[":
        yield from _array(text, start, path, errors)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, _decoder().decode(line)
            except (ValueError, RecursionError) as error:
                errors.append(_malformed(path, number, error))


def _array(text: str, start: int, path: str, errors: list[Problem]) -> Iterator[tuple[int, Any]]:
    """The elements of an array one by one, each with the line on which it starts."""
    decoder = _decoder()
    line, counted = 1, 0
    position = _skip(text, start + 1)
    try:
        if text[position : position + 1] == "]":
            position = _skip(text, position + 1)
        else:
            while True:
                line += text.count("\n", counted, position)
                counted = position
                record, end = decoder.raw_decode(text, position)
                yield line, record
                position = _skip(text, end)
                mark = text[position : position + 1]
                position = _skip(text, position + 1)
                if mark == "]":
                    break
                if mark != ",":
                    raise _BadJsonError("expected ',' or ']' after a record")
        if position < len(text):
            raise _BadJsonError("text after the closing ']'")
    except (ValueError, RecursionError) as error:
        if not isinstance(error, json.JSONDecodeError):
            line += text.count("\n", counted, position)
        errors.append(_malformed(path, line, error))


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _BadJsonError(f"the field {key[:40]!r} occurs twice in one record")
        result[key] = value
    return result


def _constant(text: str) -> Any:
    raise _BadJsonError(f"{text} is not JSON")


def _malformed(path: str, line: int, error: Exception) -> Problem:
    if isinstance(error, json.JSONDecodeError):
        line, message = max(line, error.lineno if error.doc.count("\n") else line), error.msg
    elif isinstance(error, RecursionError):
        message = "nested too deep"
    else:
        message = str(error)
    return _problem(
        path,
        line,
        "json-malformed",
        f"not valid JSON: {message}",
        "write an array of records, or one record a line",
    )


def _problem(path: str, line: int, code: str, message: str, remedy: str) -> Problem:
    return Problem(
        path=path,
        line=line,
        severity="error",
        code=code,
        message=encodable(message),
        remedy=remedy,
    )


def _skill(
    raw: Any, path: str, line: int, problems: list[Problem], errors: list[Problem]
) -> Skill | None:
    if not isinstance(raw, dict):
        errors.append(
            _problem(
                path,
                line,
                "record-type",
                f"a skill must be a JSON object, not {type(raw).__name__}",
                'write {"name": ..., "description": ...}',
            )
        )
        return None
    try:
        record = SkillRecord.model_validate(raw)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=False, include_input=False):
            field = field_path(detail["loc"][:1])
            errors.append(
                _problem(
                    path,
                    line,
                    "record-field",
                    f"field {field!r}: {detail['msg'].lower()}",
                    f"correct {field!r} in this record",
                )
            )
        return None
    name = record.name if is_safe_name(record.name) else slug(record.name)
    if not name:
        errors.append(
            _problem(
                path,
                line,
                "name-unusable",
                f"field 'name': {record.name[:80]!r} cannot be used",
                "use letters, digits and hyphens",
            )
        )
        return None
    if name != record.name:
        problems.append(
            Problem(
                path=path,
                line=line,
                severity="warning",
                code="name-unsafe",
                message=f"the name {record.name[:80]!r} cannot be used; {name!r} is used",
                remedy=f'write "name": "{name}"',
            )
        )
    full = record.description_full
    skill = Skill(
        name=name,
        category=record.category or DEFAULT_CATEGORY,
        description=full or record.description,
        index_description=record.description if full else None,
        body=record.body or "",
        source=path,
        requires=tuple(record.requires or ()),
        version=None if record.version is None else str(record.version),
        digest=digest_of_record(raw),
    )
    lines = dict.fromkeys(("name", "description", "body"), line)
    problems.extend(check_skill(skill, path, lines=lines))
    return skill
