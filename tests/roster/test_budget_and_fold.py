"""What gives way when context is short."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.budget import BudgetError, fit_budget
from roster.context import ContextBlock
from roster.disclosure import SkillSection
from roster.fold import FoldPolicy, ToolResult, ToolResultFold


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def block(title: str, size: int, priority: int = 0, required: bool = False) -> ContextBlock:
    content = "x" * (size - len(title))
    return ContextBlock(title=title, content=content, priority=priority, required=required)


def section(name: str, line: int, body: int | None = None) -> SkillSection:
    return SkillSection(name=name, catalog="l" * line, body="b" * body if body else None)


def gone(**inputs: Any) -> list[tuple[str, str]]:
    return [(o.kind, o.name) for o in fit_budget(**inputs).omissions]


def test_what_fits_stays_as_it_is() -> None:
    blocks, sections = [block("a", 10)], [section("s", 5, 20)]
    fitted = fit_budget(blocks, sections, 30)
    assert fitted.blocks == tuple(blocks) and fitted.sections == tuple(sections)
    assert fitted.omissions == () and fitted.size == 30


def test_the_lowest_priority_goes_first_and_then_what_came_last() -> None:
    blocks = [block("a", 10, 1), block("b", 10), block("c", 10), block("d", 10, 5)]
    assert gone(blocks=blocks, sections=[], limit=29) == [("context", "c"), ("context", "b")]
    assert gone(blocks=blocks, sections=[], limit=10)[-1] == ("context", "a")


def test_a_loaded_body_falls_back_to_its_line_before_the_skill_goes() -> None:
    sections = [section("old", 5, 50), section("new", 5, 50)]
    fitted = fit_budget([], sections, 60)
    assert [(o.kind, o.name) for o in fitted.omissions] == [("skill_body", "new")]
    assert [s.text for s in fitted.sections] == ["b" * 50, "l" * 5] and fitted.size == 55
    assert gone(blocks=[], sections=sections, limit=54) == [
        ("skill_body", "new"),
        ("skill", "new"),
    ]
    kept = fit_budget([], sections, 55, priorities={"new": 1})
    assert [s.body is None for s in kept.sections] == [True, False]


def test_required_blocks_stay_or_all_is_refused() -> None:
    blocks = [block("must", 10, -5, required=True), block("may", 10, 9)]
    assert fit_budget(blocks, [section("s", 5)], 10).blocks == (blocks[0],)
    with pytest.raises(BudgetError, match="size 10, and there is room for 9"):
        fit_budget(blocks, [], 9)
    with pytest.raises(ValueError, match="limit"):
        fit_budget(blocks, [], -1)


def test_another_measure() -> None:
    words = [ContextBlock(title="t", content="one two three"), block("b", 500)]
    fitted = fit_budget(words, [], 4, measure=lambda text: len(text.split()))
    assert [b.title for b in fitted.blocks] == ["t"]


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(-3, 3)), max_size=8),
    st.lists(st.tuples(st.integers(1, 20), st.none() | st.integers(1, 60)), max_size=8),
    st.integers(0, 300),
)
def test_whole_things_in_order_within_the_budget(blocks: Any, skills: Any, limit: int) -> None:
    before = [block("t", size + 1, priority) for size, priority in blocks]
    sections = [section(f"s{i}", line, body) for i, (line, body) in enumerate(skills)]
    fitted = fit_budget(before, sections, limit)
    texts = [b.title + b.content for b in fitted.blocks] + [s.text for s in fitted.sections]
    assert fitted.size == sum(map(len, texts)) <= limit
    rest = iter(before)
    assert all(any(b is c for c in rest) for b in fitted.blocks)
    whole = {s.name: {s.catalog, s.text} for s in sections}
    assert all(s.text in whole[s.name] for s in fitted.sections)


LONG = "output " * 1000


def turn(text: str, call_id: str = "c1", result: Any = LONG, **more: Any) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "t"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call_id, "content": result, **more}],
        },
        {"role": "assistant", "content": "ok"},
    ]


def asks(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"turn {i}"} for i in range(count)]


def test_old_large_results_are_folded_in_the_view_alone() -> None:
    calls: list[ToolResult] = []

    def summarize(result: ToolResult) -> str:
        calls.append(result)
        return f"summary {len(calls)}"

    fold = ToolResultFold(summarize)
    cached = {"type": "ephemeral"}
    messages = [*turn("a", cache_control=cached, is_error=True), *turn("b", "c2"), *asks(1)]
    before = copy.deepcopy(messages)
    view = fold.view(messages)
    assert messages == before
    assert view[2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": "[result of c1: 7000 bytes, summarized]\nsummary 1",
            "cache_control": cached,
            "is_error": True,
        }
    ]
    # "b" began one turn ago: too young.
    assert view[3:] == messages[3:]
    assert fold.view(messages) == view and len(calls) == 1
    assert calls[0] == ToolResult(call_id="c1", text=LONG)


def test_openai_results_are_folded_too() -> None:
    call = [{"id": "c", "function": {"name": "t", "arguments": "{}"}}]
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": call},
        {"role": "tool", "tool_call_id": "c", "content": LONG},
        *asks(2),
    ]
    view = ToolResultFold(lambda result: "short").view(messages)
    assert view[2] == {
        "role": "tool",
        "tool_call_id": "c",
        "content": "[result of c: 7000 bytes, summarized]\nshort",
    }


@pytest.mark.parametrize(
    "result",
    [
        "small",
        [{"type": "image", "source": {}}, {"type": "text", "text": LONG}],
        [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}],
        None,
        7,
    ],
)
def test_results_that_are_small_or_more_than_text_stay(result: Any) -> None:
    messages = [*turn("a", result=result), *asks(3)]
    assert ToolResultFold(lambda r: "short").view(messages) == messages


def _fails(result: ToolResult) -> str:
    raise RuntimeError("no")


async def _later(result: ToolResult) -> str:
    return "later"


@pytest.mark.parametrize("summarize", [_fails, _later, lambda r: None, lambda r: " ", lambda r: 7])
def test_a_summarizer_that_fails_keeps_the_result(summarize: Any) -> None:
    messages = [*turn("a"), *asks(2)]
    assert ToolResultFold(summarize).view(messages) == messages


@pytest.mark.anyio
async def test_asynchronous_summarizers() -> None:
    messages = [*turn("a"), *asks(2)]
    view = await ToolResultFold(_later).aview(messages)
    assert view[2]["content"][0]["content"].endswith("\nlater")
    assert await ToolResultFold(_fails).aview(messages) == messages


def test_a_long_summary_is_bounded_between_characters() -> None:
    policy = FoldPolicy(max_summary_bytes=5)
    view = ToolResultFold(lambda r: "ééé", policy).view([*turn("a"), *asks(2)])
    assert view[2]["content"][0]["content"].split("\n")[1] == "éé"
    with pytest.raises(ValueError, match="max_summary_bytes"):
        FoldPolicy(max_summary_bytes=4097)


def test_a_fold_that_saves_nothing_is_not_made() -> None:
    messages = [*turn("a", result="x" * 30), *asks(2)]
    fold = ToolResultFold(lambda r: "y" * 30, FoldPolicy(min_bytes=10))
    assert fold.view(messages) == messages
