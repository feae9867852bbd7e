"""`load_skill`: the tool with which a model asks for the instructions of one active skill."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from roster.disclosure import DisclosureCaps, DisclosureError, check_body
from roster.errors import RosterError
from roster.loaded import LoadedSkillSet, LoadedStateError
from roster.registry import SkillRegistry, missing_tools
from roster.skill import Skill
from roster.text import visible

TOOL_NAME = "load_skill"
"""Name under which the tool is offered."""

TOOL_DESCRIPTION = (
    "Load the full instructions of one of the listed skills, by its exact name. Do this before "
    "acting on a request that the skill covers; once is enough for the whole session."
)
"""What a model reads about the tool."""

MAX_MESSAGE = 1_000
"""Longest refusal, in characters. What the model wrote may be quoted in it."""

Fault = Literal["unknown", "inactive", "missing_tool", "oversize", "twice", "no_session", "full"]
"""Why a skill is not loaded."""


class SkillLoadError(RosterError):
    """A skill is not loaded, and the session is as it was.

    Attributes:
        code: Why, in one word.
    """

    def __init__(self, code: Fault, message: str) -> None:
        """Keep the reason beside the sentence for the model."""
        super().__init__(message[:MAX_MESSAGE])
        self.code: Fault = code


class LoadResult(BaseModel):
    """What the tool answers.

    Attributes:
        ok: Whether the skill is loaded now.
        name: The skill, or None.
        text: What the model reads.
        code: Why it was refused, or None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ok: bool
    name: str | None = None
    text: str
    code: Fault | None = None


def resolve_load(
    registry: SkillRegistry,
    name: object,
    *,
    active: Collection[str],
    tools: Collection[str],
    loaded: LoadedSkillSet | None,
    caps: DisclosureCaps | None = None,
) -> Skill:
    """The skill that may be loaded. Changes nothing.

    Args:
        registry: The host's skills.
        name: What the model wrote.
        active: Names of the skills that are active in this run.
        tools: Names of the tools the run has.
        loaded: What the session has loaded; None when there is no session.
        caps: Limits.

    Raises:
        SkillLoadError: If the name is unknown or inactive, a required tool is missing, the body is
            too large, the skill is loaded already, or there is no session.
    """
    if loaded is None:
        raise SkillLoadError("no_session", "skills cannot be loaded here: there is no session")
    skill = registry.get(name) if isinstance(name, str) else None
    if skill is None:
        raise SkillLoadError(
            "unknown", f"there is no skill named {visible(str(name)[:80])!r}; use a listed name"
        )
    if skill.name not in active:
        raise SkillLoadError("inactive", f"the skill {skill.name!r} is not active in this run")
    missing = missing_tools(skill, tools)
    if missing:
        listed = ", ".join(visible(tool[:80]) for tool in missing)
        raise SkillLoadError(
            "missing_tool",
            f"the skill {skill.name!r} requires tools that this run does not have: {listed}",
        )
    try:
        check_body(skill, skill.body, caps or DisclosureCaps())
    except DisclosureError as error:
        raise SkillLoadError("oversize", str(error)) from error
    if skill.name in loaded:
        raise SkillLoadError(
            "twice", f"the skill {skill.name!r} is loaded already; follow its instructions"
        )
    return skill


class LoadSkill:
    """The tool, bound to a run of a session.

    It changes nothing but the session's set: it neither activates tools nor widens what is active.

    Args:
        registry: The host's skills.
        active: Names of the skills that are active in this run.
        tools: Names of the tools the run has.
        loaded: What the session has loaded; None refuses every call.
        caps: Limits.
        deliver: "result" answers with the instructions themselves. "prompt" answers that they
            follow: for a host that shows them with `roster.disclosure.disclose` from the next
            request on.
    """

    def __init__(
        self,
        registry: SkillRegistry,
        *,
        active: Iterable[str],
        tools: Iterable[str] = (),
        loaded: LoadedSkillSet | None,
        caps: DisclosureCaps | None = None,
        deliver: Literal["result", "prompt"] = "result",
    ) -> None:
        if isinstance(active, str) or isinstance(tools, str):
            raise TypeError("active and tools are lists of names; put a single one into a list")
        if deliver not in ("result", "prompt"):
            raise ValueError(f"deliver is result or prompt, not {deliver!r}")
        self.registry, self.loaded = registry, loaded
        self.active, self.tools = frozenset(active), frozenset(tools)
        self.caps, self.deliver = caps or DisclosureCaps(), deliver

    def __call__(self, name: object) -> LoadResult:
        """Load a skill.

        Args:
            name: What the model wrote.

        Returns:
            The instructions, or the refusal. Never raises for what a model wrote.
        """
        try:
            skill = resolve_load(
                self.registry,
                name,
                active=self.active,
                tools=self.tools,
                loaded=self.loaded,
                caps=self.caps,
            )
            # Of two calls at the same time, one gets the instructions.
            if self.loaded is not None and not self.loaded.add(skill):
                raise SkillLoadError("twice", f"the skill {skill.name!r} is loaded already")
        except SkillLoadError as error:
            return LoadResult(ok=False, text=str(error), code=error.code)
        except LoadedStateError as error:
            return LoadResult(ok=False, text=str(error)[:MAX_MESSAGE], code="full")
        text = f"Skill {skill.name}:\n{skill.body}"
        if self.deliver == "prompt":
            text = f"The skill {skill.name!r} is loaded; its instructions follow in the prompt."
        return LoadResult(ok=True, name=skill.name, text=text)

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the tool's input."""
        return {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Exact name of the skill."}},
            "required": ["name"],
            "additionalProperties": False,
        }

    def anthropic_tool(self) -> dict[str, Any]:
        """The tool's definition for the Anthropic Messages API."""
        return {
            "name": TOOL_NAME,
            "description": TOOL_DESCRIPTION,
            "input_schema": self.input_schema,
        }

    def anthropic_result(self, tool_use: Any) -> dict[str, Any]:
        """The ``tool_result`` block for a ``tool_use`` block.

        Args:
            tool_use: The block, as the SDK gives it or as a dict.

        Raises:
            ValueError: If it is a call of another tool.
        """
        get = tool_use.get if isinstance(tool_use, Mapping) else lambda key: getattr(tool_use, key)
        if get("name") != TOOL_NAME:
            raise ValueError(f"this is a call of {get('name')!r}, not of {TOOL_NAME}")
        given = get("input")
        result = self(given.get("name") if isinstance(given, Mapping) else None)
        answer = {"type": "tool_result", "tool_use_id": get("id"), "content": result.text}
        return answer if result.ok else {**answer, "is_error": True}
