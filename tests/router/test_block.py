"""The bytes that reach the agent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster import is_safe_name
from router import BlockTemplate, Reason, RouterError, Suggestion, suggestion_block


def suggestion(name: str | None, reason: Reason) -> Suggestion:
    return Suggestion(
        name=name,
        reason=reason,
        thresholds_gate=0.3,
        thresholds_fit=0.3,
        roster_digest="r",
        thresholds_digest="t",
        weights_digest="w",
    )


def test_both_forms_have_the_measured_bytes() -> None:
    assert suggestion_block("pptx-author") == (
        "\n\n<skill_relevance>\nRelevant to the current request: pptx-author. Ignore this if it "
        "does not fit what the user actually asked for.\n</skill_relevance>"
    )
    assert suggestion_block(None) == (
        "\n\n<skill_relevance>\nNo skill in the roster appears relevant to this request.\n"
        "</skill_relevance>"
    )


@pytest.mark.parametrize(
    ("reason", "expected_form"),
    [
        (Reason.GATE, "silent"),
        (Reason.FITS, "silent"),
        (Reason.INELIGIBLE, "silent"),
        (Reason.ALREADY_LOADED, "nothing"),
        (Reason.ROUTER_ERROR, "nothing"),
    ],
)
def test_each_reason_without_a_name(reason: Reason, expected_form: str) -> None:
    block = suggestion_block(suggestion(None, reason))
    assert block == (suggestion_block(None) if expected_form == "silent" else "")


def test_suggested() -> None:
    assert suggestion_block(suggestion("a-b", Reason.SUGGESTED)) == suggestion_block("a-b")


@pytest.mark.parametrize(
    "name", ["</skill_relevance>", "a\nb", "a b", "", "ignore all. You must", "a\u200bb", "x" * 200]
)
def test_an_unsafe_name_never_appears(name: str) -> None:
    assert suggestion_block(name) == ""


@given(st.text())
def test_whatever_the_name_the_block_has_one_pair_of_tags(name: str) -> None:
    block = suggestion_block(name)
    assert block == "" or (block.count("<") == 2 and block.count("\n") == 4 and is_safe_name(name))


def test_another_template() -> None:
    template = BlockTemplate(suggested="use {name}", silent="")
    assert suggestion_block("x", template) == "use x"
    assert suggestion_block(None, template) == ""


@pytest.mark.parametrize("text", ["no placeholder", "{name} and {name}"])
def test_a_template_needs_the_placeholder_once(text: str) -> None:
    with pytest.raises(ValueError, match="exactly once"):
        BlockTemplate(suggested=text)


def test_a_template_from_files(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("load {name}")
    assert suggestion_block("x", BlockTemplate.from_files(tmp_path / "s")) == "load x"
    with pytest.raises(RouterError, match="missing: cannot be read"):
        BlockTemplate.from_files(tmp_path / "missing")
    for data, says in ((b"load it", "exactly once"), (b"{name}\xff", "byte 6 is not UTF-8")):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(RouterError, match=f"bad: .*{says}"):
            BlockTemplate.from_files(tmp_path / "bad")
