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
    "thanks, that helps!",
    "thank you so much, that was great",
    "OK, cool, thanks",
    "good morning",
    "Hi there",
    "谢谢",
]
SOMETHING = [
    "help",
    "Hi, help!",
    "ok help me",
    "yes",
    "great",
    "yes, great",
    "perfect, yes, all of it",
    "great, now this",
    "ok again",
    "ok, do it",
    "that was no good, again",
    "sorry, no. Again.",
    "does the night job work",
    "see that the evening job works again",
    "thanks, now the slides",
    "thanks, and now all of these",
    "thanks; now this\u061f",
    "good, commit this",
    "write a thank-you note",
    "hello world in Rust",
    "is that ok?",
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
