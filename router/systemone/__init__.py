"""System One both ways: a judge that asks such a server, and the router as such a server."""

from router.systemone.questions import SystemOneQuestions
from router.systemone.settings import SystemOneSettings
from router.systemone.wording import Wording

__all__ = ["SystemOneQuestions", "SystemOneSettings", "Wording"]
