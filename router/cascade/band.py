"""Where the local judge is unsure."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from router.settings_file import load_settings
from router.suggestion import Suggestion

_FILE = "band.json"


class Band(BaseModel):
    """Two thresholds on the local score; between them the second judge is asked.

    Attributes:
        low: Lower end, 0..1, itself inside.
        high: Upper end, 0..1, itself outside.
        learned_on: What the two were tuned on, with digests and scores.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: float = Field(ge=0.0, le=1.0)
    high: float = Field(ge=0.0, le=1.0)
    learned_on: dict[str, Any] = {}

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self

    def holds(self, score: float) -> bool:
        """Whether a score is uncertain."""
        return self.low <= score < self.high

    @classmethod
    def load(cls, path: str | Path | None = None) -> Self:
        """Read a band from a JSON file; by default the one that comes with the package.

        Raises:
            RouterError: If the file cannot be used; the message names it and the field.
        """
        shipped = Path(__file__).parent / _FILE
        return load_settings(cls, shipped if path is None else path, "low and high")


def local_score(suggestion: Suggestion) -> float:
    """How sure the local judge was that its best candidate is the right skill, 0..1.

    Fits are independent probabilities, so it is that of "this one fits and the next best does
    not": low when nothing fits and when two candidates fit alike. 0 when the shortlist was not
    read.
    """
    reread = suggestion.reread
    if reread is None or not reread.fits:
        return 0.0
    choice = reread.choice or reread.fits
    best = max(choice, key=lambda name: choice[name])
    others = (fit for name, fit in reread.fits.items() if name != best)
    return reread.fits.get(best, 0.0) * (1.0 - max(others, default=0.0))
