"""What is read of a request."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from router import Turn
from router.turn import MAX_TEXT, context_tail, readable


@given(st.text(alphabet=st.characters(), max_size=300), st.integers(1, 200))
def test_readable_is_bounded_and_encodable(text: str, limit: int) -> None:
    found = readable(text, limit)
    assert len(found) <= limit + 1
    found.encode("utf-8")
    assert not any(ord(c) < 9 or c == "\x7f" for c in found)


def test_both_ends_of_a_megabyte_are_read() -> None:
    text = Turn(request="start " + "x" * 1_000_000 + " end").request_text
    assert text.startswith("start") and text.endswith("end") and len(text) <= MAX_TEXT + 1


def test_the_context_keeps_its_newest_messages() -> None:
    messages = [f"message {i} " + "y" * 90 for i in range(50)]
    tail = context_tail(messages, 600)
    assert "message 49" in tail and "message 3 " not in tail and len(tail) < 700


def test_one_message_is_a_context_too() -> None:
    assert Turn(request="a", recent_context="b").recent_context == ("b",)  # type: ignore[arg-type]
    assert Turn(request="a", recent_context=None).recent_context == ()  # type: ignore[arg-type]
