"""Blocks of context that a host and its active skills add to a run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from roster.errors import RosterError

if TYPE_CHECKING:
    from roster.registry import SkillRegistry
    from roster.skill import Skill


class ContextBlock(BaseModel):
    """A titled text for the prompt.

    Attributes:
        title: One line.
        content: The text.
        priority: What goes first when there is too little room: the lowest number.
        required: Whether it may never be left out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    content: str
    priority: int = 0
    required: bool = False


class ContextRequest(BaseModel):
    """What a provider is told about the run.

    Attributes:
        messages: The conversation, in the host's own form.
        session: Name of the session, or None.
        metadata: Whatever the host adds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    messages: tuple[Any, ...] = ()
    session: str | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)


class ContextProvider(Protocol):
    """Gives blocks for a run. It may be asynchronous; `aresolve_context` then awaits it."""

    @property
    def name(self) -> str:
        """Names the provider in errors."""
        ...

    def resolve(
        self, request: ContextRequest
    ) -> Sequence[ContextBlock] | Awaitable[Sequence[ContextBlock]]:
        """The blocks, in order."""
        ...


class ContextError(RosterError):
    """A provider failed or gave something else than blocks. The message names it."""


def resolve_context(
    host: Iterable[ContextProvider],
    active: Iterable[Skill],
    registry: SkillRegistry,
    request: ContextRequest | None = None,
) -> tuple[ContextBlock, ...]:
    """The blocks of the host's providers, then those of each active skill, one after the other.

    Args:
        host: The host's own providers, in order.
        active: The active skills, in order. An inactive skill contributes nothing.
        registry: Where the skills' providers are registered.
        request: What the providers are told.

    Raises:
        ContextError: If a provider raises, is asynchronous or gives something else than blocks.
    """
    request = request or ContextRequest()
    blocks: list[ContextBlock] = []
    for provider in _in_order(host, active, registry):
        try:
            given = provider.resolve(request)
        except Exception as error:
            raise _failed(provider, error) from error
        if inspect.isawaitable(given):
            if inspect.iscoroutine(given):
                given.close()
            raise ContextError(
                f"the context provider {provider.name!r} is asynchronous; use aresolve_context"
            )
        blocks += _checked(provider, given)
    return tuple(blocks)


async def aresolve_context(
    host: Iterable[ContextProvider],
    active: Iterable[Skill],
    registry: SkillRegistry,
    request: ContextRequest | None = None,
) -> tuple[ContextBlock, ...]:
    """`resolve_context` that awaits asynchronous providers, still one after the other."""
    request = request or ContextRequest()
    blocks: list[ContextBlock] = []
    for provider in _in_order(host, active, registry):
        try:
            given = provider.resolve(request)
            if inspect.isawaitable(given):
                given = await given
        except Exception as error:
            raise _failed(provider, error) from error
        blocks += _checked(provider, given)
    return tuple(blocks)


def _in_order(
    host: Iterable[ContextProvider], active: Iterable[Skill], registry: SkillRegistry
) -> list[ContextProvider]:
    return [*host, *(p for skill in active for p in registry.providers(skill.name))]


def _checked(provider: ContextProvider, given: object) -> list[ContextBlock]:
    if not isinstance(given, list | tuple) or not all(isinstance(b, ContextBlock) for b in given):
        raise ContextError(
            f"the context provider {provider.name!r} gave {type(given).__name__}, not a list of "
            "ContextBlock"
        )
    return list(given)


def _failed(provider: ContextProvider, error: Exception) -> ContextError:
    return ContextError(
        f"the context provider {provider.name!r} failed ({type(error).__name__}: {error}); "
        "nothing was sent"
    )
