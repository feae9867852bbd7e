"""Local first; a second judge only where the local one is unsure."""

from router.cascade.band import Band, local_score
from router.cascade.cascade import Cascade

__all__ = ["Band", "Cascade", "local_score"]
