"""A TOML file of procedures and how they are used."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from eval.cost.procedures import Procedure, Use
from roster.text import field_path


class CostError(ValueError):
    """Numbers that cannot be used; the message names where they stand and the remedy."""


def read_procedures(
    path: str | Path, overrides: Mapping[str, Any] | None = None
) -> tuple[list[Procedure], Use]:
    """Read procedures and their use.

    The file holds the fields of `Use` and one ``[[procedure]]`` table for each `Procedure`.

    Args:
        path: The TOML file.
        overrides: Fields of `Use` that count instead of the file's.

    Returns:
        At least one procedure, and the use.

    Raises:
        CostError: If the file cannot be read, is no TOML, or a value is unknown, missing or out
            of range.
    """
    path = Path(path).expanduser()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CostError(f"{path}: cannot be read ({error.strerror}); give a TOML file") from error
    except UnicodeDecodeError as error:
        raise CostError(f"{path}: is not UTF-8 text (byte {error.start}); save it so") from error
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise CostError(f"{path}: is not TOML: {error}; mend that line") from error
    tables = data.pop("procedure", [])
    if not isinstance(tables, list) or not tables:
        raise CostError(f"{path}: holds no procedures; write one [[procedure]] table for each")
    procedures: list[Procedure] = []
    seen: dict[str, int] = {}
    for number, table in enumerate(tables, start=1):
        try:
            procedure = Procedure.model_validate(table)
        except ValidationError as error:
            raise CostError(_first(f"{path}: procedure {number}", error, Procedure)) from error
        if procedure.name in seen:
            raise CostError(
                f"{path}: procedure {number}: name: {procedure.name[:80]!r} is also procedure "
                f"{seen[procedure.name]}; give each procedure once"
            )
        seen[procedure.name] = number
        procedures.append(procedure)
    return procedures, use_of({**data, **(overrides or {})}, str(path))


def use_of(values: Mapping[str, Any], where: str) -> Use:
    """A use from its fields.

    Raises:
        CostError: If one is unknown, missing or out of range; it names `where`.
    """
    try:
        return Use.model_validate(dict(values))
    except ValidationError as error:
        raise CostError(_first(where, error, Use)) from error


def _first(where: str, error: ValidationError, record: type[Procedure] | type[Use]) -> str:
    first = error.errors()[0]
    field = field_path(first["loc"])
    place = f"{where}: {field}" if field else where
    message = first["msg"].removeprefix("Value error, ")
    known = ", ".join(record.model_fields)
    return f"{place}: {message}; the known keys are {known}"
