"""The four numbers that decide when the router speaks, and their file."""

from __future__ import annotations

import hashlib
import json
import logging
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from roster.text import field_path
from router.errors import ThresholdsError

_log = logging.getLogger(__name__)


class Thresholds(BaseModel):
    """When to stay silent, and how much the reread reads.

    Attributes:
        gate: Least `Gate.need`, 0..1; below it nothing is suggested.
        fit: Least best fit of the shortlist, 0..1; below it nothing is suggested.
        shortlist: Candidates that are reread, 1..50.
        excerpt: Characters of a candidate's body that the reread sees, 0..20,000.
        roster_digest: Roster these numbers were tuned on, or None.
        weights_digest: Learned numbers these were tuned with, or None.
        requests_digest: Labelled requests these were tuned on, or None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    gate: float = Field(default=0.30, ge=0.0, le=1.0)
    fit: float = Field(default=0.30, ge=0.0, le=1.0)
    shortlist: int = Field(default=3, ge=1, le=50)
    excerpt: int = Field(default=700, ge=0, le=20_000)
    roster_digest: str | None = None
    weights_digest: str | None = None
    requests_digest: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over the four numbers; what they were tuned on does not count."""
        numbers = {name: getattr(self, name) for name in ("gate", "fit", "shortlist", "excerpt")}
        return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()

    @classmethod
    def from_toml(cls, path: str | Path, defaults: Mapping[str, float] | None = None) -> Self:
        """Read thresholds from a TOML file.

        Args:
            path: The file.
            defaults: Values of keys that the file leaves out, by default the published ones.

        Raises:
            ThresholdsError: If the file cannot be read, is no TOML, has an unknown key or a value
                out of range. The message names file, key and remedy.
        """
        path = Path(path).expanduser()
        if path.exists() and not path.is_file():
            raise ThresholdsError(f"{path}: is no regular file; give the path of a TOML file")
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except RecursionError as error:
            raise ThresholdsError(f"{path}: is nested too deep; write one key a line") from error
        except OSError as error:
            raise ThresholdsError(
                f"{path}: cannot be read ({error.strerror}); give the path of a TOML file"
            ) from error
        except UnicodeDecodeError as error:
            raise ThresholdsError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
        except ValueError as error:  # also numbers of thousands of digits
            raise ThresholdsError(f"{path}: is not TOML: {error}; mend that line") from error
        try:
            return cls.model_validate({**(defaults or {}), **data})
        except ValidationError as error:
            first = error.errors()[0]
            key = field_path(first["loc"]) or "the file"
            known = ", ".join(cls.model_fields)
            raise ThresholdsError(
                f"{path}: {key}: {first['msg']}; the known keys are {known}"
            ) from error

    def to_toml(self) -> str:
        """The thresholds as TOML text that `from_toml` reads back to the same numbers."""
        lines = []
        for key, value in self.model_dump(exclude_none=True).items():
            lines.append(f"{key} = {json.dumps(value)}")
        return "\n".join(lines) + "\n"


def warn_if_stale(
    thresholds: Thresholds,
    roster_digest: str,
    weights_digest: str,
    requests_digest: str | None = None,
) -> None:
    """Tuned thresholds are worth nothing on other skills or other weights: say so once, at load.

    Args:
        thresholds: The thresholds in use.
        roster_digest: Digest of the roster in use.
        weights_digest: Digest of the learned numbers in use.
        requests_digest: Digest of the labelled requests that count now; None when nobody says.
    """
    now = {"roster": roster_digest, "weights": weights_digest, "requests": requests_digest}
    stale = []
    for name, digest in now.items():
        if digest is not None and getattr(thresholds, f"{name}_digest") not in (None, digest):
            stale.append(name)
    if stale:
        _log.warning(
            "the thresholds were tuned on another %s; tune them again with skill-router tune",
            " and other ".join(stale),
        )
