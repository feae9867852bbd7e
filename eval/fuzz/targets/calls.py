"""Arguments of the library: turns, request parameters of agents, calls of the load tool."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from eval.fuzz.generate import Random, dumped, record, text, value
from eval.fuzz.light import light_router, small_roster
from eval.fuzz.target import Target, clean, require
from roster.load_skill import LoadSkill
from roster.loaded import LoadedSkillSet
from roster.registry import SkillRegistry
from router.middleware.anthropic_messages import MessagesRouter
from router.middleware.openai_chat import ChatRouter
from router.pipeline import Router
from router.suggestion import Reason

_TURN_KEYS = ("request", "recent_context", "allowed_tools", "loaded")
_PARAM_KEYS = ("model", "system", "messages", "tools", "role", "content", "type", "text", "name",
               "input", "tool_use", "tool_result", "cache_control")  # fmt: skip
_TURN = b'{"request": "Mend the torn sail of my kite", "recent_context": ["hi"], "loaded": []}'
_PARAMS = (
    b'{"model": "m", "system": "You help.", "messages": [{"role": "user", "content": "mend torn '
    b'kite sails"}], "tools": [{"name": "terminal"}]}',
    b'{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": [{"type": '
    b'"text", "text": "bake bread"}]}, {"role": "assistant", "content": null}, {"role": "tool", '
    b'"content": "ok"}, {"role": "user", "content": "again"}]}',
)


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    roster = small_roster()
    router = light_router(roster, place)
    tools = {"terminal"}
    return [
        Target("suggest", 5, [_TURN], _build_turn, lambda data: _feed_turn(router, data)),
        Target("anthropic-params", 4, _PARAMS, _build_params,
               _preparing(lambda: MessagesRouter(router, timeout_s=None).prepare)),
        Target("openai-params", 4, _PARAMS, _build_params,
               _preparing(lambda: ChatRouter(router, timeout_s=None).prepare)),
        Target("load-skill", 3, [b'"kite-repair"', b'"bread-bake"'],
               lambda r: dumped(r, r.choice(("kite-repair", {"name": "tax-return"}, text(r),
                                             value(r, ("name", "input", "id"))))),
               lambda data: _feed_load(SkillRegistry(roster), tools, data)),
    ]  # fmt: skip


def _parsed(data: bytes) -> Any:
    """The value of a JSON text; of any other bytes, their text."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "surrogateescape")


def _feed_turn(router: Router, data: bytes) -> bool:
    found = _parsed(data)
    given = found if isinstance(found, dict) else {"request": found}
    made = router.suggest(**{key: given.get(key, "") for key in ("request",)}, **{
        key: given[key] for key in _TURN_KEYS[1:] if key in given
    })  # fmt: skip
    str(made)
    made.model_dump_json()
    loaded, allowed = given.get("loaded"), given.get("allowed_tools")
    if made.name is not None:
        require(made.name in router.roster, "a name that is not in the roster")
        require(not isinstance(loaded, list) or made.name not in loaded, "a loaded skill")
        if isinstance(allowed, list):
            require(set(router.roster[made.name].requires) <= set(allowed), "an ineligible skill")
    if made.reason is not Reason.ROUTER_ERROR:
        return True
    # A wrong type ends the turn in silence; texts alone must not.
    texts = [given.get("request", ""), *_listed(given.get("recent_context"))]
    texts += [*_listed(allowed), *_listed(loaded)]
    wrong = any(not isinstance(one, str) for one in texts)
    require(wrong, f"the router failed: {made.detail}")
    return clean(made.detail or "")


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _preparing(make: Callable[[], Callable[[Any], dict[str, Any]]]) -> Callable[[bytes], bool]:
    def feed(data: bytes) -> bool:
        params = _parsed(data)
        if not isinstance(params, Mapping):
            return False
        before = copy.deepcopy(params)
        prepared = make()(params)
        require(params == before, "parameters that were changed in place")
        added = len(_texts(prepared)) - len(_texts(before))
        require(added in (0, 1), f"{added} texts were added")
        kept = set(_texts(before)) - set(_texts(prepared))
        require(len(kept) <= 1, "texts that were lost")
        return prepared != before

    return feed


def _texts(params: object) -> list[str]:
    """Every text in parameters that stands in a message or in the system prompt."""
    found: list[str] = []
    waiting = [params]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting.extend(
                one[key] for key in ("messages", "system", "content", "text") if key in one
            )
        elif isinstance(one, list):
            waiting.extend(one)
    return found


def _feed_load(registry: SkillRegistry, tools: set[str], data: bytes) -> bool:
    tool = LoadSkill(
        registry, active=("kite-repair", "bread-bake"), tools=tools, loaded=LoadedSkillSet()
    )
    given = _parsed(data)
    result = tool(given)
    block = tool.anthropic_result({"name": "load_skill", "id": "1", "input": given})
    require(block["type"] == "tool_result", "another block")
    return True if result.ok else clean(result.text)


def _build_turn(random: Random) -> bytes:
    fields = {
        "request": lambda r: r.choice(("bake bread", text(r))),
        "recent_context": lambda r: r.choice(([text(r)], text(r), [], None)),
        "allowed_tools": lambda r: r.choice((None, [], ["oven"], [text(r)])),
        "loaded": lambda r: r.choice(([], ["kite-repair"], [text(r)])),
    }
    return dumped(random, record(random, fields, _TURN_KEYS))


def _build_params(random: Random) -> bytes:
    block = {
        "type": lambda r: r.choice(("text", "tool_use", "tool_result", "image")),
        "text": lambda r: r.choice(("mend kites", text(r))),
        "name": lambda r: r.choice(("load_skill", "skill_view", text(r))),
        "input": lambda r: value(r, ("name",)),
        "content": lambda r: value(r, _PARAM_KEYS),
    }
    message = {
        "role": lambda r: r.choice(("user", "assistant", "system", "tool", "developer")),
        "content": lambda r: r.choice(
            (text(r), [record(r, block, _PARAM_KEYS) for _ in range(r.randrange(3))])
        ),
        "tool_calls": lambda r: value(r, ("function", "name", "arguments")),
    }
    fields = {
        "messages": lambda r: [record(r, message, _PARAM_KEYS) for _ in range(r.randrange(5))],
        "system": lambda r: r.choice((text(r), [{"type": "text", "text": text(r)}])),
        "tools": lambda r: [{"name": text(r)} for _ in range(r.randrange(3))],
        "model": text,
    }
    return dumped(random, record(random, fields, _PARAM_KEYS))
