"""Local first; a second judge only where the local one is unsure."""

from router.cascade.band import Band, Reading
from router.cascade.cascade import Cascade
from router.cascade.doubt import Doubt

__all__ = ["Band", "Cascade", "Doubt", "Reading"]
