"""Messages of courtesy alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router import Router
from router.local.courtesy import is_courtesy
from router.suggestion import Reason

NOTHING = [
    "Thanks!",
    "thank you so much, that was great",
    "OK, cool",
    "good morning",
    "谢谢",
    "Merci!",
]
SOMETHING = [
    "help",
    "yes",
    "do it",
    "ok, do it",
    "thanks, now the slides",
    "good, commit this",
    "write a thank-you note",
    "hello world in Rust",
    "is this a good one?",
    "",
    "!!!",
    "thanks " * 100,
]


@pytest.mark.parametrize("text", NOTHING)
def test_courtesy_asks_for_nothing(text: str, router: Router) -> None:
    assert is_courtesy(text)
    suggestion = router.suggest(text, recent_context=["Merge the two branches and push."])
    assert suggestion.name is None and suggestion.reason is Reason.GATE


@pytest.mark.parametrize("text", SOMETHING)
def test_more_than_courtesy_is_left_to_the_gate(text: str) -> None:
    assert not is_courtesy(text)


@given(st.sampled_from(NOTHING), st.from_regex(r"[b-z]{4,12}zq", fullmatch=True))
def test_one_other_word_is_enough_to_be_heard(text: str, word: str) -> None:
    assert not is_courtesy(f"{text} {word}")
