"""Late interaction on integer units agrees with the definition computed in floats."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import TensorProto, checker, helper

from router.local import index as index_module
from router.local.index import SkillIndex
from router.local.lexical import LexicalIndex
from router.local.signals import late_interaction
from router.local.token_product import GRAPH, digits, products

WIDTH = 8


def test_the_graph_is_the_one_node_it_is_said_to_be() -> None:
    value = helper.make_tensor_value_info
    built = helper.make_model(
        helper.make_graph(
            [helper.make_node("MatMulInteger", ["query", "tokens", "half"], ["sums"])],
            "token-product",
            [
                value("query", TensorProto.UINT8, ["m", "k"]),
                value("tokens", TensorProto.INT8, ["k", "n"]),
            ],
            [value("sums", TensorProto.INT32, ["m", "n"])],
            [helper.make_tensor("half", TensorProto.UINT8, [], [64])],
        ),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
        producer_name="",
    )
    shipped = onnx.load_model_from_string(GRAPH)
    checker.check_model(shipped, full_check=True)
    assert shipped.SerializeToString() == built.SerializeToString()


def reference(
    index: SkillIndex, tokens: NDArray[np.float32], weights: NDArray[np.float32]
) -> list[float]:
    """The definition, skill by skill and token by token."""
    found = []
    for first, last in zip(index.token_starts, index.token_starts[1:], strict=False):
        block = index.tokens[first:last].astype(np.float64) / 127.0
        found.append(
            sum(
                float(weight) * max(float(other @ token.astype(np.float64)) for other in block)
                for weight, token in zip(weights, tokens, strict=True)
            )
        )
    return found


def index_of(blocks: list[NDArray[np.int8]]) -> SkillIndex:
    count = len(blocks)
    words = LexicalIndex.build([])
    vectors = np.zeros((count, 4), np.float32)
    return SkillIndex(
        names=tuple(f"skill-{n}" for n in range(count)),
        skill_digests=(),
        documents=vectors,
        summaries=vectors,
        passages=vectors,
        passage_starts=np.arange(count + 1),
        tokens=np.concatenate([np.zeros((0, WIDTH), np.int8), *blocks]),
        token_starts=np.cumsum([0, *map(len, blocks)]).astype(np.int64),
        word=words,
        char=words,
        front=words,
    )


def made(
    seed: int, lengths: list[int], count: int, scale: float
) -> tuple[SkillIndex, NDArray[np.float32], NDArray[np.float32]]:
    random = np.random.default_rng(seed)
    index = index_of([random.integers(-127, 128, (n, WIDTH)).astype(np.int8) for n in lengths])
    tokens = (random.standard_normal((count, WIDTH)) * scale).astype(np.float32)
    weights = random.random(count).astype(np.float32)
    return index, tokens, weights / weights.sum()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    count=st.integers(1, 20),
    scale=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
)
def test_late_interaction_is_the_weighted_mean_of_the_best_cosines(
    seed: int, lengths: list[int], count: int, scale: float
) -> None:
    index, tokens, weights = made(seed, lengths, count, scale)
    found = late_interaction(index, tokens, weights)
    assert found.dtype == np.float32
    # A digit's step is 1/16,000 of a token's largest component, and a sum has WIDTH of them.
    tolerance = WIDTH * float(np.abs(tokens).max()) / 16_000
    np.testing.assert_allclose(found, reference(index, tokens, weights), atol=tolerance, rtol=0)


@pytest.mark.parametrize("kept", [10**6, 0])
def test_the_blocks_a_roster_is_read_in_change_nothing(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    lengths = [5, 1, 30, 7, 7, 90, 2]
    index, tokens, weights = made(3, lengths, 6, 1.0)
    whole = late_interaction(index, tokens, weights)
    monkeypatch.setattr(index_module, "_TOKENS_AT_ONCE", 12)
    monkeypatch.setattr(index_module, "_TOKENS_KEPT", kept)
    pieces = index_of(
        [
            index.tokens[a:b]
            for a, b in zip(index.token_starts, index.token_starts[1:], strict=False)
        ]
    )
    assert [(first, last) for first, last, _ in pieces.token_blocks()] == [
        (0, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7),
    ]  # fmt: skip
    np.testing.assert_array_equal(late_interaction(pieces, tokens, weights), whole)


def test_products_are_exact_up_to_the_largest_numbers() -> None:
    """Every instruction set has to agree: some add two products in 16 bits."""
    tokens = np.array([[1.0] * WIDTH, [-1.0] * WIDTH, [0.0] * WIDTH], np.float32)
    block = np.array([[127] * WIDTH, [-127] * WIDTH], np.int8)
    query = digits(tokens)
    assert query.rows.max() <= 127
    found = products(query, np.ascontiguousarray(block.T)) * query.units[:, None]
    np.testing.assert_allclose(
        found, [[WIDTH, -WIDTH], [-WIDTH, WIDTH], [0, 0]], rtol=1e-6, atol=1e-9
    )


def test_an_empty_roster_has_no_scores() -> None:
    _, tokens, weights = made(1, [3], 2, 1.0)
    assert late_interaction(index_of([]), tokens, weights).shape == (0,)
