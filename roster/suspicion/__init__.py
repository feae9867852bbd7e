"""Which skills of a roster look hostile, and keeping them from ever being suggested."""

from roster.suspicion.inspect import REVIEW_LEVEL, inspect_roster, inspect_skill
from roster.suspicion.quarantine import (
    QUARANTINE_LEVEL,
    Defended,
    Quarantine,
    QuarantineError,
    review,
)
from roster.suspicion.records import Sign, Suspicion

__all__ = [
    "QUARANTINE_LEVEL",
    "REVIEW_LEVEL",
    "Defended",
    "Quarantine",
    "QuarantineError",
    "Sign",
    "Suspicion",
    "inspect_roster",
    "inspect_skill",
    "review",
]
