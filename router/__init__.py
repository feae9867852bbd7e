"""Which one skill, if any, should the agent load for this turn?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# Where each name lives. Names are imported when they are asked for: the hook of an agent is a
# process of its own every turn, and it needs none of them while the service runs.
_HOMES = {
    "BlockTemplate": "block",
    "EncoderError": "errors",
    "Gate": "suggestion",
    "Judge": "judge",
    "Ranking": "suggestion",
    "Reason": "suggestion",
    "Reread": "suggestion",
    "Router": "pipeline",
    "RouterError": "errors",
    "Suggestion": "suggestion",
    "Thresholds": "thresholds",
    "ThresholdsError": "errors",
    "Turn": "turn",
    "WeightsError": "errors",
    "suggestion_block": "block",
}


def __getattr__(name: str) -> Any:
    """A public name, imported now."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
