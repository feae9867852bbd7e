"""A judge that asks Claude, or any server that speaks Anthropic's Messages API."""

from router.claude.questions import ClaudeQuestions
from router.claude.settings import ClaudeSettings

__all__ = ["ClaudeQuestions", "ClaudeSettings"]
