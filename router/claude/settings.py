"""Which Claude is asked, and how."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr

DEFAULT_MODEL = "claude-haiku-4-5-20251001"


class ClaudeSettings(BaseModel):
    """Settings of the Claude judge.

    Attributes:
        model: Name of the model.
        base_url: Root of the server; None takes `ANTHROPIC_BASE_URL`, else Anthropic's own.
        api_key: The key; None takes `ANTHROPIC_API_KEY` or `ANTHROPIC_AUTH_TOKEN`.
        timeout_s: Seconds for one HTTP exchange.
        max_retries: Retries by the SDK of 408, 409, 429, 5xx and failed connections; None leaves
            it to the SDK.
        max_tokens: Most output tokens of a reply.
        width: Characters of each description in the roster the model sees.
        chunk: Most skills in one prompt; a larger roster is ranked in chunks.
        excerpt: Characters of a candidate's body in the second question.
        strict: Whether the forced tool asks for grammar-constrained input; turn it off for
            servers that do not know it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str = Field(default=DEFAULT_MODEL, min_length=1)
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout_s: float = Field(default=20.0, gt=0)
    max_retries: int | None = Field(default=None, ge=0, le=20)
    max_tokens: int = Field(default=2048, ge=64)
    width: int = Field(default=160, ge=4)
    chunk: int = Field(default=400, ge=21)
    excerpt: int = Field(default=700, ge=0)
    strict: bool = True
