"""Which System One server is asked, and how."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr

MOST_CHOICES = 255
"""Most labels of one choice question."""


class SystemOneSettings(BaseModel):
    """Settings of the System One judge.

    Attributes:
        model: Name of the model; None takes `TYPESAFE_DEFAULT_MODEL`, else the SDK's default.
        base_url: Root of the server; None takes `TYPESAFE_BASE_URL`, else the public one.
        api_key: The key; None takes `TYPESAFE_API_KEY`.
        timeout_s: Seconds for one HTTP operation.
        max_retries: Retries by the SDK of 408, 429, 5xx and failed connections; None leaves it to
            the SDK.
        width: Characters of each description in the wide question.
        chunk: Most skills in one question.
        excerpt: Characters of a candidate's body in the second question.
        wording: Path of another questions file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout_s: float = Field(default=10.0, gt=0)
    max_retries: int | None = Field(default=None, ge=0, le=20)
    width: int = Field(default=160, ge=4)
    chunk: int = Field(default=MOST_CHOICES, ge=21, le=MOST_CHOICES)
    excerpt: int = Field(default=700, ge=0)
    wording: str | None = None
