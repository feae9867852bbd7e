"""The texts a skill is scored by."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from roster import Skill
from router.local.excerpt import choose_excerpt
from router.local.text import document, passages, summary


def skill(body: str) -> Skill:
    return Skill(name="tea-make", description="Brew **tea**.", body=body)


@given(st.text(max_size=3000), st.integers(50, 400))
def test_passages_cover_the_start_of_the_body_in_order(body: str, size: int) -> None:
    pieces = passages(skill(body), size=size, most=5)
    assert 1 <= len(pieces) <= 5
    assert all(len(piece) <= size for piece in pieces)
    from router.local.text import plain

    joined = "".join(pieces).replace(" ", "")
    whole = (plain(skill(body).body) or plain(skill(body).description)).replace(" ", "")
    assert whole.startswith(joined)


def test_markup_is_left_out() -> None:
    text = document(skill("## Steps\n\n- **boil** `water`"))
    assert text == "tea make. Brew tea . Steps - boil water"
    assert summary(skill("x")) == "tea make. Brew tea ."


def test_a_skill_without_body_has_its_description_as_passage() -> None:
    assert passages(skill("")) == ["Brew tea ."]


@given(
    st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=8),
    st.integers(0, 100),
    st.integers(0, 99),
)
def test_an_excerpt_is_bounded(pieces: list[str], limit: int, seed: int) -> None:
    nearness = np.random.default_rng(seed).random(len(pieces)).astype(np.float32)
    excerpt = choose_excerpt(pieces, nearness, limit)
    assert len(excerpt) <= limit + len(pieces)
    if limit:
        assert pieces[int(nearness.argmax())][:limit] in excerpt
