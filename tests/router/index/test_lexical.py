"""Counts on disk score as the weights in memory do."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.index.lexical import char_rows, invert, pack_chars, pack_words
from router.index.product import GRAPH, Int8Product
from router.index.query import char_query, char_scores, word_query, word_scores
from router.local.lexical import LexicalIndex, char_terms, word_terms

TEXTS = st.lists(st.text("abc d", max_size=30), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.text("abc d", max_size=20))
def test_word_scores_are_those_of_the_index_in_memory(texts: list[str], query: str) -> None:
    terms = [word_terms(text) for text in texts]
    whole = LexicalIndex.build(terms)
    packed = np.concatenate([pack_words(row, one) for row, one in enumerate(terms)])
    postings = invert(packed, len(texts))
    cosine, cover = word_scores(word_query(query, [postings], len(texts)), postings)
    assert np.allclose(cosine, whole.scores(word_terms(query)), atol=1e-5)
    assert np.allclose(cover, whole.coverage(word_terms(query)), atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.text("abc d", max_size=20))
def test_character_scores_are_those_of_the_index_in_memory(texts: list[str], query: str) -> None:
    terms = [char_terms(text) for text in texts]
    rows = char_rows([pack_chars(one) for one in terms])
    asked = char_query(query, [rows.vocabulary], len(texts))
    found = char_scores(asked, rows.packed, rows.starts, rows.norms)
    assert np.allclose(found, LexicalIndex.build(terms).scores(char_terms(query)), atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.integers(0, 8))
def test_postings_survive_being_packed_again(texts: list[str], at: int) -> None:
    terms = [word_terms(text) for text in texts]
    packed = np.concatenate([pack_words(row, one) for row, one in enumerate(terms)])
    postings = invert(packed.copy(), len(texts))
    again = postings.packed(at)
    moved = np.concatenate([pack_words(row + at, one) for row, one in enumerate(terms)])
    assert np.array_equal(np.sort(again), np.sort(moved))


@pytest.mark.parametrize("rows", [0, 1, 7, 300])
def test_the_integer_product_is_the_product(rows: int) -> None:
    rng = np.random.default_rng(rows)
    matrix = rng.integers(-127, 128, (rows, 64)).astype(np.int8)
    vector = rng.normal(size=64).astype(np.float32)
    vector /= np.linalg.norm(vector)
    found = Int8Product(1)(matrix, vector)
    exact = matrix.astype(np.float32) @ vector
    lengths = np.linalg.norm(matrix.astype(np.float32), axis=1)
    assert found.shape == (rows,)
    assert (np.abs(found - exact) <= 0.05 * lengths + 1e-6).all()


def test_extreme_integers_do_not_overflow() -> None:
    matrix = np.full((2, 64), -127, np.int8)
    matrix[1] = 127
    found = Int8Product(1)(matrix, np.full(64, 0.125, np.float32))
    assert np.allclose(found, [-127 * 8, 127 * 8], rtol=1e-3)


def test_the_graph_of_the_product_is_one_node() -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(base64.b64decode("".join(GRAPH)))
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["MatMulInteger"]
