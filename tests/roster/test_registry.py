"""Registry, activation and context providers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from roster import DuplicateSkillError, Skill
from roster.context import (
    ContextBlock,
    ContextError,
    ContextRequest,
    aresolve_context,
    resolve_context,
)
from roster.registry import ActivationError, SkillRegistry

KITE = Skill(name="kite-repair", description="Mend kites.", body="Glue.", requires=("glue", "saw"))
BREAD = Skill(name="bread-bake", description="Bake bread.", body="Knead.")
OTHER_BREAD = Skill(name="bread-bake", description="Bake rolls.", body="Roll.")


class Provider:
    def __init__(self, name: str, resolve: Callable[[ContextRequest], Any]) -> None:
        self.name, self.resolve = name, resolve


def gives(name: str) -> Provider:
    return Provider(name, lambda request: [ContextBlock(title=name, content=f"of {name}")])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_policies_for_a_second_skill_of_one_name() -> None:
    with pytest.raises(DuplicateSkillError, match="bread-bake"):
        SkillRegistry([BREAD, OTHER_BREAD])
    assert SkillRegistry([BREAD, KITE, OTHER_BREAD], "keep").get("bread-bake") == BREAD
    replaced = SkillRegistry([BREAD, KITE, OTHER_BREAD], "replace")
    assert replaced.get("bread-bake") == OTHER_BREAD and replaced.names[0] == "bread-bake"
    with pytest.raises(ValueError, match="error, keep or replace"):
        SkillRegistry([], "last")  # type: ignore[arg-type]


def test_nothing_is_active_by_default_and_the_order_is_the_callers() -> None:
    registry = SkillRegistry([KITE, BREAD])
    assert registry.resolve_active([], []) == ()
    assert registry.resolve_active(["bread-bake", "kite-repair"], ["saw", "glue", "x"]) == (
        BREAD,
        KITE,
    )


@pytest.mark.parametrize(
    ("names", "tools", "code", "says"),
    [
        (["bread-bak"], [], "unknown", "did you mean bread-bake"),
        (["\x1b[31m"], [], "unknown", "\\x1b[31m"),
        (["bread-bake", "bread-bake"], [], "duplicate", "'bread-bake' is activated twice"),
        (["kite-repair"], ["glue"], "missing_tool", "'kite-repair' requires the tool 'saw'"),
        (["kite-repair"], [], "missing_tool", "the tools 'glue', 'saw'"),
    ],
)
def test_what_cannot_be_active_is_named_before_anything_is_sent(
    names: list[str], tools: list[str], code: str, says: str
) -> None:
    with pytest.raises(ActivationError) as caught:
        SkillRegistry([KITE, BREAD]).resolve_active(names, tools)
    assert (
        caught.value.code == code and caught.value.skill == names[0] and says in str(caught.value)
    )
    if code == "missing_tool":
        assert set(caught.value.tools) == {"glue", "saw"} - set(tools)


def test_a_single_string_is_no_list_of_names() -> None:
    with pytest.raises(TypeError):
        SkillRegistry([BREAD]).resolve_active("bread-bake", [])


def test_context_comes_from_the_host_first_and_from_active_skills_alone() -> None:
    registry = SkillRegistry()
    registry.register(KITE, [gives("k1"), gives("k2")])
    registry.register(BREAD, [gives("b")])
    blocks = resolve_context([gives("host")], [BREAD, KITE], registry)
    assert [block.title for block in blocks] == ["host", "b", "k1", "k2"]
    assert [block.title for block in resolve_context([gives("host")], [], registry)] == ["host"]


@pytest.mark.anyio
async def test_asynchronous_providers_run_one_after_the_other() -> None:
    order: list[str] = []

    async def resolve(request: ContextRequest) -> list[ContextBlock]:
        order.append(str(request.session))
        return [ContextBlock(title="a", content="b")]

    slow = Provider("slow", resolve)
    request = ContextRequest(session="s", messages=("hi",))
    blocks = await aresolve_context([slow, gives("host"), slow], [], SkillRegistry(), request)
    assert [block.title for block in blocks] == ["a", "host", "a"] and order == ["s", "s"]
    with pytest.raises(ContextError, match="'slow' is asynchronous; use aresolve_context"):
        resolve_context([slow], [], SkillRegistry())


def _raise(request: ContextRequest) -> Any:
    raise OSError("disk")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("resolve", "says"),
    [(_raise, "failed (OSError: disk)"), (lambda r: None, "NoneType"), (lambda r: ["x"], "list")],
)
async def test_a_provider_that_fails_is_named(resolve: Any, says: str) -> None:
    bad = Provider("bad", resolve)
    for _ in range(2):
        with pytest.raises(ContextError) as caught:
            resolve_context([bad], [], SkillRegistry())
        assert "'bad'" in str(caught.value) and says in str(caught.value)
    with pytest.raises(ContextError, match="'bad'"):
        await aresolve_context([bad], [], SkillRegistry())
