"""What the service is asked and what it answers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from roster.layers import Layer
from roster.text import field_path
from router.block import suggestion_block
from router.service.problems import Refusal
from router.suggestion import Suggestion
from router.turn import Turn

MAX_FOLDERS = 128
"""Most roster folders of one request."""

MAX_REQUEST = 400_000
"""Longest request or message in characters; the router reads its two ends."""

Text = Annotated[str, StringConstraints(max_length=MAX_REQUEST)]
Name = Annotated[str, StringConstraints(max_length=256)]
Folder = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class PrefixedFolder(BaseModel):
    """A folder whose skills are named ``prefix:folder``, such as those of a plugin.

    Attributes:
        path: Absolute path.
        prefix: What the names begin with; "" leaves them as they are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    path: Folder
    prefix: Annotated[str, StringConstraints(max_length=100)] = ""


class SuggestRequest(BaseModel):
    """One turn, and the skills to choose from.

    Attributes:
        request: The user's newest message.
        recent_context: Earlier messages, oldest first.
        allowed_tools: Tools the agent may use; null when unknown.
        loaded: Skills the session has loaded already.
        roster: Absolute folders of skills, the nearest first: of two skills of one name, that of
            the first folder counts. null means the roster the service was started with. A folder
            is a path, or an object of ``path`` and ``prefix``.
        roster_wait_s: Seconds to wait when the roster is not ready yet, then 503; null waits as
            long as the service answers at all. It goes on being indexed either way.
        session: Whatever names the conversation; only the decision log reads it.
        full: Whether to answer with everything that led to the suggestion.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    request: Text
    recent_context: Annotated[list[Text], Field(max_length=200)] = []
    allowed_tools: Annotated[list[Name], Field(max_length=2_000)] | None = None
    loaded: Annotated[list[Name], Field(max_length=2_000)] = []
    roster: (
        Annotated[list[Folder | PrefixedFolder], Field(min_length=1, max_length=MAX_FOLDERS)] | None
    ) = None
    roster_wait_s: Annotated[float, Field(ge=0.0, le=600.0)] | None = None
    session: Name | None = None
    full: bool = False

    def layers(self) -> tuple[Layer, ...] | None:
        """The folders to choose from, the nearest first; None for the service's own roster."""
        if self.roster is None:
            return None
        return tuple(
            Layer(each) if isinstance(each, str) else Layer(each.path, each.prefix)
            for each in self.roster
        )

    def turn(self) -> Turn:
        """The turn to be routed."""
        return Turn(
            request=self.request,
            recent_context=tuple(self.recent_context),
            allowed_tools=None if self.allowed_tools is None else frozenset(self.allowed_tools),
            loaded=frozenset(self.loaded),
        )


class SuggestAnswer(BaseModel):
    """The decision for one turn.

    Attributes:
        name: The skill to load, or null.
        reason: Why, in one word.
        block: What to append to the agent's prompt; may be "".
        need: How likely the turn needs a skill, 0..1; null when that was not reached.
        fits: Fit of each shortlisted skill, 0..1; empty when that was not reached.
        roster_digest: Digest of the roster that was searched.
        elapsed_ms: Milliseconds per stage: ``queue``, ``rank``, ``reread``, ``total``.
        detail: One line more, when the reason needs it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None
    reason: str
    block: str
    need: float | None
    fits: dict[str, float]
    roster_digest: str
    elapsed_ms: dict[str, float]
    detail: str | None


def parse_request(value: dict[str, Any]) -> SuggestRequest:
    """Check the fields of a request.

    Raises:
        Refusal: With status 422; it names each field that is wrong.
    """
    try:
        return SuggestRequest.model_validate(value)
    except ValidationError as error:
        errors = [
            {
                "field": field_path(item["loc"]),
                "message": item["msg"],
            }
            for item in error.errors(include_url=False, include_input=False)[:20]
        ]
        known = ", ".join(SuggestRequest.model_fields)
        first = errors[0]
        raise Refusal(
            422, f"{first['field']}: {first['message']}; the fields are {known}", errors
        ) from error


def answer_record(suggestion: Suggestion, queue_ms: float, full: bool) -> dict[str, Any]:
    """The JSON answer for a suggestion.

    Args:
        suggestion: The suggestion.
        queue_ms: Milliseconds it waited for its turn.
        full: Whether to give all that led to it, as ``skill-router suggest --json`` does.
    """
    elapsed = {"queue": round(queue_ms, 3), **suggestion.elapsed_ms}
    if full:
        from router.commands.suggest import as_record

        return {**as_record(suggestion), "elapsed_ms": elapsed}
    return SuggestAnswer(
        name=suggestion.name,
        reason=suggestion.reason.value,
        block=suggestion_block(suggestion),
        need=None if suggestion.gate is None else round(suggestion.gate.need, 6),
        fits={} if suggestion.reread is None else suggestion.reread.fits,
        roster_digest=suggestion.roster_digest,
        elapsed_ms=elapsed,
        detail=suggestion.detail,
    ).model_dump()
