"""TF-IDF over hashed words and character n-grams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from router.local.lexical import LexicalIndex, char_terms, word_terms, words

DOCUMENTS = [
    "merge pdf files and split pdf pages",
    "send an email to the whole team",
    "deploy the service to staging, then watch the logs",
    "read email and archive old email threads",
]


def test_scores_equal_scikit_learns_for_known_words() -> None:
    vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    expected_rows = vectorizer.fit_transform(DOCUMENTS)
    query = "the whole team"
    expected = (expected_rows @ vectorizer.transform([query]).T).toarray().ravel()
    index = LexicalIndex.build([word_terms(text) for text in DOCUMENTS])
    assert index.scores(word_terms(query)) == pytest.approx(expected, abs=1e-5)


def test_words_no_skill_uses_lower_the_score_of_all() -> None:
    index = LexicalIndex.build([word_terms(text) for text in DOCUMENTS])
    plain = index.scores(word_terms("send email"))
    diluted = index.scores(word_terms("send email mastodon fediverse"))
    assert np.all(diluted <= plain) and diluted[1] < plain[1]


def test_coverage_is_the_share_of_informative_words() -> None:
    index = LexicalIndex.build([word_terms(text) for text in DOCUMENTS])
    assert index.coverage(word_terms("merge pdf"))[0] == pytest.approx(1.0)
    assert index.coverage(word_terms("zebra quagga"))[0] == 0.0


def test_words_of_other_scripts_stand_apart() -> None:
    assert words("用hf把Qwen2下载") == ["用", "hf", "把", "qwen2", "下载"]
    assert words("Café") == ["cafe"]
    assert words("翻译这个文件") == ["翻译", "译这", "这个", "个文", "文件"]


def test_character_ngrams_bridge_word_forms() -> None:
    index = LexicalIndex.build([char_terms(text) for text in DOCUMENTS])
    assert int(np.argmax(index.scores(char_terms("emailing")))) in (1, 3)
    assert index.scores(char_terms("deployment"))[2] > 0


@given(st.text(max_size=200))
def test_any_text_gives_sorted_distinct_terms(text: str) -> None:
    for terms, counts in (word_terms(text), char_terms(text)):
        assert len(terms) == len(counts)
        assert np.all(np.diff(terms.astype(np.int64)) > 0)
        assert np.all(counts >= 1)


@given(st.lists(st.text(max_size=60), max_size=6), st.text(max_size=60))
def test_scores_are_cosines_whatever_the_texts(texts: list[str], query: str) -> None:
    for make in (word_terms, char_terms):
        index = LexicalIndex.build([make(text) for text in texts])
        scores, coverage = index.scores(make(query)), index.coverage(make(query))
        assert scores.shape == coverage.shape == (len(texts),)
        assert np.all(scores >= 0) and np.all(scores <= 1.0001)
        assert np.all(coverage >= 0) and np.all(coverage <= 1.0001)


def test_an_empty_index_scores_nothing() -> None:
    assert LexicalIndex.build([]).scores(word_terms("a b")).shape == (0,)
