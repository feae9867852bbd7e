"""Counts on disk score as the weights in memory do."""

from __future__ import annotations

import base64
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.index import lexical
from router.index.lexical import invert, pack_terms
from router.index.product import GRAPH, Int8Product
from router.index.query import query, scores
from router.index.scoring import LEARNED_ON, lexical_moments
from router.local.lexical import LexicalIndex, Terms, char_terms, word_terms

TEXTS = st.lists(st.text("abc d", max_size=30), min_size=1, max_size=8)


@pytest.mark.parametrize("terms_of", [word_terms, char_terms])
@settings(max_examples=40, deadline=None)
@given(TEXTS, st.text("abc d", max_size=20))
def test_scores_are_those_of_the_index_in_memory(
    terms_of: Callable[[str], Terms], texts: list[str], text: str
) -> None:
    terms = [terms_of(one) for one in texts]
    whole = LexicalIndex.build(terms)
    packed = np.concatenate([pack_terms(row, one) for row, one in enumerate(terms)])
    postings = invert(packed, len(texts))
    asked = terms_of(text)
    cosine, cover = scores(query(asked, [postings], len(texts)), postings, coverage=True)
    assert np.allclose(cosine, whole.scores(asked), atol=1e-5)
    assert np.allclose(cover, whole.coverage(asked), atol=1e-5)


@pytest.mark.parametrize("block", [1, 2, 5])
@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, text=st.text("abc d", max_size=20))
def test_scores_do_not_depend_on_the_blocks(block: int, texts: list[str], text: str) -> None:
    packed = [pack_terms(row, char_terms(one)) for row, one in enumerate(texts)]
    postings = invert(np.concatenate(packed), len(texts))
    asked = query(char_terms(text), [postings], len(texts))
    at_once = scores(asked, postings, coverage=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "_BLOCK", block)
        places, _ = postings.vocabulary.find(asked.terms)
        assert all(len(one.rows) <= block for one in postings.blocks(places))
        in_blocks = scores(asked, postings, coverage=True)
    for one, other in zip(at_once, in_blocks, strict=True):
        assert np.allclose(one, other, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_postings_survive_being_packed_again(texts: list[str]) -> None:
    terms = [word_terms(text) for text in texts]
    packed = np.concatenate([pack_terms(row, one) for row, one in enumerate(terms)])
    again = invert(packed.copy(), len(texts)).packed()
    assert np.array_equal(again, np.sort(packed))


@pytest.mark.parametrize("rows", [0, 1, 7, 300])
def test_the_integer_product_is_the_product(rows: int) -> None:
    rng = np.random.default_rng(rows)
    matrix = rng.integers(-127, 128, (rows, 64)).astype(np.int8)
    vector = rng.normal(size=64).astype(np.float32)
    vector /= np.linalg.norm(vector)
    product, columns = Int8Product(1), np.ascontiguousarray(matrix.T)
    sums = product.sums(columns)
    assert np.array_equal(sums, matrix.sum(axis=1, dtype=np.int32))
    found = product(columns, sums, vector)
    exact = matrix.astype(np.float32) @ vector
    lengths = np.linalg.norm(matrix.astype(np.float32), axis=1)
    assert found.shape == (rows,)
    assert (np.abs(found - exact) <= 0.05 * lengths + 1e-6).all()


def test_extreme_integers_do_not_overflow() -> None:
    matrix = np.full((2, 64), -127, np.int8)
    matrix[1] = 127
    product, columns = Int8Product(1), np.ascontiguousarray(matrix.T)
    for sign in (1, -1):
        vector = np.full(64, sign * 0.125, np.float32)
        found = product(columns, product.sums(columns), vector)
        assert np.allclose(found, [-127 * 8 * sign, 127 * 8 * sign], rtol=1e-3)


def test_the_graph_of_the_product_is_one_node() -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(base64.b64decode("".join(GRAPH)))
    onnx.checker.check_model(model)
    assert [node.op_type for node in model.graph.node] == ["MatMulInteger"]


def test_a_rare_word_counts_no_more_in_a_large_roster_than_in_one_learned_on() -> None:
    def distance(size: int) -> float:
        matches = np.zeros((size, 4), np.float32)
        matches[0] = 0.5  # one skill has the word
        mean, spread = lexical_moments(matches)
        return float(((matches[0] - mean) / spread)[0])

    assert distance(LEARNED_ON) <= distance(50_000) < np.sqrt(LEARNED_ON) + 0.1
    everyday = np.random.default_rng(0).normal(0.2, 0.05, (20_000, 4)).astype(np.float32)
    _, spread = lexical_moments(everyday)
    assert np.allclose(spread, 0.05, rtol=0.15), "what many skills have keeps its deviation"
