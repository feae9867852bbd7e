"""What the calls of a judge cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]


class Usage(BaseModel):
    """Calls, tokens and bytes of one stage, added up over its attempts.

    Attributes:
        calls: Calls that were started.
        input_tokens: Input tokens that no cache held.
        cache_read_tokens: Input tokens read from the provider's cache.
        cache_write_tokens: Input tokens written to it.
        output_tokens: Output tokens.
        request_bytes: Bytes of the questions.
        reply_bytes: Bytes of the replies.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: Count = 0
    input_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    output_tokens: Count = 0
    request_bytes: Count = 0
    reply_bytes: Count = 0

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        names = type(self).model_fields
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def tokens(self) -> int:
        """All tokens, cached ones included."""
        return (
            self.input_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
            + self.output_tokens
        )
