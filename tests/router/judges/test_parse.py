from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.proposals import MalformedReply, parse_strict

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_what_json_writes_is_read_back(value: dict[str, object]) -> None:
    assert parse_strict(json.dumps(value), 1 << 20) == value


@given(st.binary(max_size=300))
def test_any_bytes_give_an_object_or_a_named_fault(data: bytes) -> None:
    try:
        assert isinstance(parse_strict(data, 1000), dict)
    except MalformedReply as fault:
        assert str(fault)


@given(st.text(alphabet='{}[]":,\\u0d8 etrufalsn1eE+-.', max_size=80))
def test_almost_json_gives_an_object_or_a_named_fault(text: str) -> None:
    try:
        assert isinstance(parse_strict(text, 1000), dict)
    except MalformedReply as fault:
        assert str(fault)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("", "not one JSON object"),
        ("[]", "not a JSON object"),
        ('"text"', "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"a": 1} {"b": 2}', "not one JSON object"),
        ('{"a": 1} trailing', "not one JSON object"),
        ('```json\n{"a": 1}\n```', "not one JSON object"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ('{"a": {"b": 1, "b": 1}}', "stands twice"),
        ('{"a": [{"b": 1, "\\u0062": 1}]}', "stands twice"),
        ('{"a": NaN}', "not a JSON number"),
        ('{"a": Infinity}', "not a JSON number"),
        ('{"a": -Infinity}', "not a JSON number"),
        ('{"a": 1e999}', "out of range"),
        ('{"a": ' + "9" * 5000 + "}", "out of range"),
        ('{"a": "\\ud800"}', "cannot be encoded"),
        ('{"\\udfff": 1}', "cannot be encoded"),
        ('{"a": "\ud800"}', "cannot be encoded"),
        (b'{"a": "\xff"}', "not UTF-8"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ("{'a': 1}", "not one JSON object"),
        ('\ufeff{"a": 1}', "not one JSON object"),
    ],
)
def test_what_is_refused(reply: str | bytes, fault: str) -> None:
    with pytest.raises(MalformedReply, match=fault):
        parse_strict(reply, 1 << 20)


def test_a_long_reply_is_refused_unparsed() -> None:
    with pytest.raises(MalformedReply, match="longer than 10 bytes"):
        parse_strict("not json at all, and long", 10)
    assert parse_strict('{"a": 1}', 8) == {"a": 1}
    with pytest.raises(MalformedReply, match="longer"):
        parse_strict('{"a": "\u20ac"}', 11)  # 10 characters, 12 bytes
