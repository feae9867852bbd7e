"""Where the local judge is unsure."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field

from router.cascade.doubt import Doubt, speaks
from router.settings_file import load_settings
from router.suggestion import Suggestion

_FILE = "band.json"


class Reading(NamedTuple):
    """What a band says of one local decision.

    Attributes:
        doubt: Probability that the decision is a mistake, 0..1.
        threshold: The doubt above which this kind of decision is uncertain.
    """

    doubt: float
    threshold: float

    @property
    def uncertain(self) -> bool:
        """Whether the second judge is to be asked."""
        return self.doubt > self.threshold


class Band(BaseModel):
    """Two thresholds on the probability of a mistake, one for each kind of decision.

    Together they are a band on how well the best skill fits: a skill that fits too well to stay
    silent about, or not well enough to suggest it unchecked.

    Attributes:
        speaks: A decision that found a skill is uncertain above this probability, 0..1.
        silent: A decision that found none is uncertain above this one, 0..1.
        doubt: The probability.
        learned_on: What all of it was learned on, with digests and scores.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    speaks: float = Field(ge=0.0, le=1.0)
    silent: float = Field(ge=0.0, le=1.0)
    doubt: Doubt
    learned_on: dict[str, Any] = {}

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over every number that decides; what they were learned on is left out."""
        numbers = self.model_dump(mode="json", exclude={"learned_on"})
        return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()

    def read(self, suggestion: Suggestion) -> Reading:
        """How uncertain a decision is; without evidence it counts as certain."""
        threshold = self.speaks if speaks(suggestion) else self.silent
        doubt = self.doubt(suggestion)
        return Reading(0.0 if doubt is None else doubt, threshold)

    @classmethod
    def load(cls, path: str | Path | None = None) -> Self:
        """Read a band from a JSON file; by default the one that comes with the package.

        Raises:
            RouterError: If the file cannot be used; the message names it and the field.
        """
        shipped = Path(__file__).parent / _FILE
        return load_settings(
            cls,
            shipped if path is None else path,
            "speaks, silent and doubt (skill-router tune-band)",
        )
