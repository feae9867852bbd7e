"""Three tools over the Model Context Protocol: suggest_skill, search_skills, load_skill."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, ConfigDict, Field

from roster.disclosure import DisclosureCaps
from roster.load_skill import TOOL_DESCRIPTION, TOOL_NAME, LoadSkill
from roster.loaded import LoadedSkillSet
from roster.registry import SkillRegistry
from roster.text import one_line
from router.block import suggestion_block
from router.pipeline import Router
from router.turn import Turn

MAX_DESCRIPTION = 300
"""Longest description of a search result, in characters; the end of a longer one is cut off."""

_INSTRUCTIONS = (
    "Call suggest_skill with the user's newest message before you act on it. When it names a skill "
    "that fits, call load_skill with that name and follow the instructions."
)
_Text = Annotated[str, Field(max_length=400_000)]
_Texts = Annotated[list[_Text], Field(max_length=200)]
_Names = Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=2_000)]


class Suggested(BaseModel):
    """What suggest_skill answers.

    Attributes:
        name: The skill to load, or null.
        reason: Why, in one word.
        block: The lines an agent reads.
        detail: One line more, when the reason needs it.
    """

    model_config = ConfigDict(frozen=True)

    name: str | None
    reason: str
    block: str
    detail: str | None


class Match(BaseModel):
    """One result of search_skills.

    Attributes:
        name: The skill.
        category: Its category.
        description: What it does, on one line.
        probability: Share of this skill in the ranking of the whole roster.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    category: str
    description: str
    probability: float


class Matches(BaseModel):
    """What search_skills answers, the likeliest skill first."""

    model_config = ConfigDict(frozen=True)

    skills: list[Match]


def make_server(load: Callable[[], Router], caps: DisclosureCaps | None = None) -> MCPServer[Any]:
    """The server. One connection over stdio is one session.

    Args:
        load: Gives the router. It is called once, with the first call of a tool, so that the
            server greets its client at once.
        caps: Limits on what is loaded.
    """
    server: MCPServer[Any] = MCPServer("skill-router", instructions=_INSTRUCTIONS)
    held = _Held(load, caps or DisclosureCaps(body_bytes=256 << 10))

    @server.tool(
        name="suggest_skill",
        description="Which one skill, if any, to load for the user's newest message.",
    )
    def suggest_skill(
        request: _Text,
        recent_context: _Texts | None = None,
        allowed_tools: _Names | None = None,
        loaded: _Names | None = None,
    ) -> Suggested:
        suggestion = held.router.suggest(
            Turn(
                request=request,
                recent_context=tuple(recent_context or ()),
                allowed_tools=None if allowed_tools is None else frozenset(allowed_tools),
                loaded=frozenset(loaded or ()) | frozenset(held.loaded),
            )
        )
        return Suggested(
            name=suggestion.name,
            reason=suggestion.reason.value,
            block=suggestion_block(suggestion).strip(),
            detail=suggestion.detail,
        )

    @server.tool(
        name="search_skills",
        description="Skills that come closest to a text, the likeliest first.",
    )
    def search_skills(query: _Text, limit: Annotated[int, Field(ge=1, le=50)] = 10) -> Matches:
        if not query.strip() or not len(held.router.eligible):
            return Matches(skills=[])
        ranking, _ = held.router.judge.rank(Turn(request=query), held.router.eligible)
        found = []
        for name, probability in ranking.entries[:limit]:
            skill = held.router.roster[name]
            found.append(
                Match(
                    name=name,
                    category=one_line(skill.category),
                    description=one_line(skill.description)[:MAX_DESCRIPTION],
                    probability=round(probability, 6),
                )
            )
        return Matches(skills=found)

    @server.tool(name=TOOL_NAME, description=TOOL_DESCRIPTION)
    def load_skill(name: Annotated[str, Field(max_length=256)]) -> str:
        result = held.load_skill(name)
        if not result.ok:
            raise ToolError(result.text)
        return result.text

    return server


class _Held:
    """The router, loaded when it is needed, and what this session has loaded."""

    def __init__(self, load: Callable[[], Router], caps: DisclosureCaps) -> None:
        self._load, self._caps, self._lock = load, caps, Lock()
        self._router: Router | None = None
        self._tool: LoadSkill | None = None
        self.loaded = LoadedSkillSet()

    @property
    def router(self) -> Router:
        with self._lock:
            if self._router is None:
                try:
                    self._router = self._load()
                except ValueError as error:
                    # Roster and router errors name what is wrong and the remedy.
                    raise ToolError(str(error)) from error
            return self._router

    @property
    def load_skill(self) -> LoadSkill:
        roster = self.router.roster
        if self._tool is None:
            # The client's tools are unknown here, so that none is missing.
            tools = {tool for skill in roster for tool in skill.requires}
            self._tool = LoadSkill(
                SkillRegistry(roster),
                active=roster.names,
                tools=tools,
                loaded=self.loaded,
                caps=self._caps,
            )
        return self._tool
