"""Which words of a request stand in a skill."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from eval.train.prepare import RememberingEncoder
from roster import Roster, Skill
from router import Turn
from router.local.encoder import load_encoder
from router.local.excerpt import Reader
from router.local.judge import LocalJudge
from router.local.lexical import LexicalIndex, word_terms
from router.local.pair_reread import PairReread
from router.local.pair_text import PairInput
from router.local.presence import asked, presence, said

TEXTS = st.text(st.sampled_from("abcé用把的 -_.,'12XY\n"), max_size=40)


def spans(text: str) -> NDArray[np.int64]:
    """Pieces of at most three characters of each word, as a tokenizer cuts them."""
    found = [
        (start, min(start + 3, match.end()))
        for match in re.finditer(r"\w+", text)
        for start in range(match.start(), match.end(), 3)
    ]
    return np.array([(0, 0), *found, (0, 0)], dtype=np.int64).reshape(-1, 2)


NO_ROSTER = LexicalIndex.build([])


def rows(request: str, front: str, body: str = "") -> list[list[float]]:
    """The first three columns."""
    found = presence(asked(request, spans(request), NO_ROSTER), said(front, f"{front} {body}"))
    assert not found[:, 3].any()
    return found[:, :3].tolist()


def test_a_word_is_in_front_in_the_body_or_nowhere() -> None:
    found = rows("push to gitlab", "git push", "mirrors to a remote")
    nothing, word, anywhere, front = [0, 0, 0], [1, 0, 0], [1, 0, 1], [1, 1, 1]
    assert found == [nothing, front, front, anywhere, word, word, nothing]


def test_all_pieces_of_a_word_say_the_same() -> None:
    assert rows("kubernetes", "a Kubernetes skill")[1:-1] == [[1, 1, 1]] * 4
    assert rows("kubernetes", "a kubernete skill")[1:-1] == [[1, 0, 0]] * 4


def test_case_accents_and_marks_do_not_count() -> None:
    assert rows("CAFÉ-menu", "the café", "menu")[1:-1] == [[1, 1, 1]] * 2 + [[1, 0, 1]] * 2


def test_letters_alone_and_marks_are_no_words() -> None:
    assert rows("a ! b", "a b") == [[0, 0, 0]] * 4


def test_chinese_counts_by_pairs() -> None:
    assert rows("数据库", "数据库 迁移")[1] == [1, 1, 1]
    assert rows("数据库", "数据 迁移")[1] == [1, 0, 0]


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_in_front_is_anywhere_and_only_words_are(a: str, b: str, c: str) -> None:
    found = np.array(rows(a, b, c))
    assert found.shape == (len(spans(a)), 3) and np.isin(found, (0, 1)).all()
    assert (found[:, 1] <= found[:, 2]).all() and (found[:, 2] <= found[:, 0]).all()


@given(TEXTS)
def test_a_text_says_all_its_own_words(text: str) -> None:
    found = np.array(rows(text, text))
    assert (found == found[:, :1]).all()


def test_an_encoder_that_tells_no_spans_has_nothing_present() -> None:
    request = asked("mend the kite", np.zeros((4, 2), dtype=np.int64), NO_ROSTER)
    assert not presence(request, said("mend the kite", "mend the kite")).any()


def test_the_shipped_encoder_tells_where_its_tokens_are() -> None:
    text = "Mend my Dragonfly-kite, 用hf把 please " + "and again " * 90
    encoded = load_encoder().encode([text, ""], 96)
    assert [len(one) for one in encoded.spans] == [len(one) for one in encoded.tokens]
    begins, ends = encoded.spans[0].T
    assert (begins[1:-1] < ends[1:-1]).all() and (begins[2:-1] >= ends[1:-2]).all()
    pieces = [text[a:b].lower() for a, b in encoded.spans[0][1:8]]
    assert "".join(pieces).startswith("mendmydragonfly-kite")
    assert encoded.spans[0][-1].tolist() == [0, 0]
    assert not load_encoder().encode([""], 96).spans_of(0).any()


def test_a_reader_sees_a_changed_body() -> None:
    reader = Reader(most=1)
    skill = Skill(name="kite-care", description="Mend kites.", body="glue")
    other = skill.model_copy(update={"body": "string"})
    for one, word in ((skill, "glue"), (other, "string"), (skill, "glue")):
        found = presence(asked(word, spans(word), NO_ROSTER), reader.said(one))
        assert found[1].tolist() == [1, 0, 1, 0]
    assert presence(asked("mend", spans("mend"), NO_ROSTER), reader.said(skill))[1].tolist() == [
        1,
        1,
        1,
        0,
    ]


def test_how_many_skills_say_a_word() -> None:
    texts = ["mend a kite", "mend a boat", "mend bread", *("bake" for _ in range(9))]
    roster = LexicalIndex.build([word_terms(text) for text in texts])
    request = "mend-kite bake unheard kite"
    found = presence(asked(request, spans(request), roster), said("kite", "kite"))
    common = {}
    for (begin, end), row in zip(spans(request), found, strict=True):
        common.setdefault(request[begin:end], row[3])
    assert common["men"] == 1.0 and common["bak"] == 1.0
    assert common["kit"] == pytest.approx(4 / 12)
    assert common["unh"] == common[""] == 0.0
    assert found[-2][3] == pytest.approx(4 / 12)


@given(st.lists(TEXTS, max_size=6), TEXTS, st.sampled_from([0, 1, 94, 171, 60_000]))
def test_shares_are_counted_as_they_are_told(texts: list[str], asked_for: str, silent: int) -> None:
    terms = [word_terms(text) for text in texts] + [word_terms("")] * silent
    roster = LexicalIndex.build(terms)
    wanted = word_terms(asked_for)[0]
    told = [sum(term in one for one, _ in terms[: len(texts)]) for term in wanted]
    shares = roster.shares_of(wanted)
    assert shares.tolist() == pytest.approx([count / max(len(terms), 1) for count in told])
    assert ((shares == 0.0) == (np.array(told) == 0)).all()


def test_what_no_token_reaches_is_not_read() -> None:
    spans_of_two = np.array([(0, 4), (5, 8)], dtype=np.int64)
    request = asked("mend the kite " + "x" * 100_000, spans_of_two, NO_ROSTER)
    assert request.text == "mend the" and len(request.hashes) == 2
    assert asked("! " * 50_000, spans_of_two, NO_ROSTER).text == "! " * 4


def test_remembered_texts_keep_their_spans() -> None:
    plain, remembering = load_encoder(), RememberingEncoder(load_encoder())
    for texts in (["mend my kite", "bake"], ["bake", "fly", "mend my kite"]):
        found, told = remembering.encode(texts, 96), plain.encode(texts, 96)
        assert [one.tolist() for one in found.spans] == [one.tolist() for one in told.spans]


def test_a_word_that_the_tokens_stop_within_is_no_other_word() -> None:
    text = "do " * 93 + "pushdown"
    request = asked(text, load_encoder().encode([text], 96).spans_of(0), NO_ROSTER)
    assert request.text.endswith("push")
    assert presence(request, said("git push", "git push"))[-2].tolist() == [1, 0, 0, 0]
    assert presence(request, said("pushdown", "pushdown"))[-2].tolist() == [1, 1, 1, 0]


class Recorder:
    """A pair scorer that keeps what it was given."""

    name, digest, token_dimension = "recorder", "0" * 64, None

    def score(self, pairs: PairInput) -> NDArray[np.float32]:
        self.seen = pairs
        return np.zeros(len(pairs.blocks), dtype=np.float32)


@pytest.mark.parametrize("index", [None, "exact"])
def test_a_pair_scorer_is_told_what_is_present(index: str | None, tmp_path: Path) -> None:
    skills = [
        Skill(name="github-push", description="Push code to GitHub.", body="Use a remote."),
        Skill(name="bread-bake", description="Bake bread.", body="Knead the dough."),
    ]
    roster, recorder = Roster.from_skills(skills), Recorder()
    loaded = LocalJudge.load(roster, cache=tmp_path, index=index)
    assert loaded.heads.reread is not None
    reread = PairReread(recorder, loaded.heads.reread)
    judge = LocalJudge(roster, loaded.looker, load_encoder(), loaded.heads, reread=reread)
    judge.reread(Turn(request="push remote kite"), skills)
    first, second = (rows[1:4].tolist() for rows in recorder.seen.presence)
    assert first == [[1, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 0]]
    assert second == [[1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 0]]
