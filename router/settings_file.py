"""Small JSON files that come with the package and can be replaced by the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from roster.text import field_path
from router.errors import RouterError

Model = TypeVar("Model", bound=BaseModel)


def load_settings(model: type[Model], path: str | Path, holds: str) -> Model:
    """Read a record from a JSON file.

    Args:
        model: The record's class.
        path: The file; ``~`` is expanded.
        holds: What such a file holds, for the message, for example "low and high".

    Raises:
        RouterError: If the file cannot be used; the message names it and the field.
    """
    file = Path(path).expanduser()
    try:
        return model.model_validate_json(file.read_bytes())
    except OSError as error:
        raise RouterError(
            f"{file}: cannot be read ({error.strerror}); give a JSON file of {holds}"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        field = field_path(first["loc"]) or "the file"
        raise RouterError(f"{file}: {field}: {first['msg']}") from error
