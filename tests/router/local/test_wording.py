"""How a request is worded beside a skill."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster import Roster, Skill
from router import Router, Turn
from router.cascade.doubt import COLUMNS, evidence
from router.local.lexical import LexicalIndex, word_terms
from router.local.presence import asked, presence, said
from router.local.wording import WORDING_NAMES, wording

ROSTER = ("push code to github", "mirror a repository on gitlab", "bake bread")


def read(request: str, front: str, body: str = "", like: float = 1.0) -> dict[str, float]:
    spans = np.array([m.span() for m in re.finditer(r"\w+|\S", request)], dtype=np.int64)
    spans = spans.reshape(-1, 2)
    words = asked(request, spans, LexicalIndex.build([word_terms(text) for text in ROSTER]))
    count = len(spans)
    columns = wording(
        words,
        np.full(count, 1 / max(count, 1), dtype=np.float32),
        presence(words, said(front, f"{front} {body}")),
        np.full(count, like, dtype=np.float32),
    )
    assert len(columns) == len(WORDING_NAMES) and np.isfinite(columns).all()
    return dict(zip(WORDING_NAMES, columns, strict=True))


def test_a_rivals_product_is_absent_alike_and_elsewhere() -> None:
    found = read("push to gitlab", "push code to github", like=0.9)
    third = pytest.approx(1 / 3, abs=1e-6)
    assert found["words:absent"] == found["words:absent_most"] == third
    assert found["words:elsewhere"] == third and found["words:unheard"] == 0.0
    assert found["words:alike"] == pytest.approx(0.3) and found["words:unlike"] < 0.04
    assert found["words:telling_front"] == 0.0  # a third of the skills say "push" and "to"


def test_a_word_no_skill_says_is_unheard() -> None:
    found = read("push to kalshi", "push code to github", like=0.1)
    assert found["words:unheard_most"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["words:elsewhere"] == 0.0
    assert found["words:unlike"] == pytest.approx(0.3, abs=1e-6)


def test_the_body_counts_but_is_not_the_front() -> None:
    found = read("reflog", "git", "use the reflog")
    assert found["words:absent"] == 0.0 and found["words:not_in_front"] == 1.0
    assert found["words:telling"] == 1.0 and found["words:telling_front"] == 0.0


def test_other_languages_show() -> None:
    english, spanish = read("can you push this", "push"), read("¿puedes subir esto mañana?", "push")
    assert english["request:common_words"] == 0.75 and spanish["request:common_words"] == 0.0
    assert spanish["request:foreign_letters"] > english["request:foreign_letters"] == 0.0
    assert read("把代码推送", "push")["request:foreign_letters"] == 1.0


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_gives_numbers_within_bounds(request: str, front: str) -> None:
    found = read(request, front)
    shares = [value for name, value in found.items() if name != "request:pieces"]
    assert all(0.0 <= share <= 1.0 + 1e-6 for share in shares)
    assert found["request:pieces"] >= 0.0


@given(st.sampled_from(["push to gitlab", "bake the bread now"]), st.integers(2, 5))
def test_saying_it_again_changes_nothing_but_what_one_word_has(text: str, times: int) -> None:
    once, again = (read(" ".join([text] * n), "push code to github") for n in (1, times))
    for name in once:
        if not name.endswith("_most"):
            assert again[name] == pytest.approx(once[name], abs=1e-5), name


@pytest.mark.parametrize("reranker", [None, "none"])
def test_a_local_judge_tells_it_with_any_reread(reranker: str | None, tmp_path: Any) -> None:
    skills = [
        Skill(name="github-push", description="Push code to GitHub.", body="git push"),
        Skill(name="bread-bake", description="Bake bread.", body="Knead the dough."),
    ]
    router = Router.load(Roster.from_skills(skills), reranker=reranker, cache=tmp_path)
    turn = Turn(request="push my code to GitLab")
    columns = evidence(router.read_anyway(turn, router.suggest(turn)))
    assert columns is not None
    found = dict(zip(COLUMNS, columns, strict=True))
    assert 0.0 < found["best:words:unheard_most"] < 1.0
    assert found["best:request:common_words"] == pytest.approx(0.4)
