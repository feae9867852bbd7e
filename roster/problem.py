"""One thing that is wrong with a roster, and how to mend it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from roster.text import visible

Severity = Literal["error", "warning"]


class Problem(BaseModel):
    """A finding about one file or record.

    Attributes:
        path: The file or folder, as given by the caller.
        line: 1-based line in that file, or None when the whole file is meant.
        severity: "error" when no skill came of it, "warning" when one did.
        code: A short stable identifier such as ``yaml-rejected``.
        message: What is wrong.
        remedy: What to do about it, as an instruction.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    line: int | None = Field(default=None, ge=1)
    severity: Severity
    code: str
    message: str
    remedy: str

    @property
    def is_error(self) -> bool:
        """Whether the severity is "error"."""
        return self.severity == "error"

    @property
    def where(self) -> str:
        """``path:line``, or the path alone when no line is known."""
        path = visible(self.path)
        return path if self.line is None else f"{path}:{self.line}"

    def __str__(self) -> str:
        """``path:line: what is wrong; how to mend it``."""
        return f"{self.where}: {visible(self.message)}; {visible(self.remedy)}"
