"""Which one skill, if any, should the agent load for this turn?"""

from router.block import BlockTemplate, suggestion_block
from router.errors import EncoderError, RouterError, ThresholdsError, WeightsError
from router.judge import Judge
from router.pipeline import Router
from router.suggestion import Gate, Ranking, Reason, Reread, Suggestion
from router.thresholds import Thresholds
from router.turn import Turn

__all__ = [
    "BlockTemplate",
    "EncoderError",
    "Gate",
    "Judge",
    "Ranking",
    "Reason",
    "Reread",
    "Router",
    "RouterError",
    "Suggestion",
    "Thresholds",
    "ThresholdsError",
    "Turn",
    "WeightsError",
    "suggestion_block",
]
