"""Products of token vectors on the processor's integer units.

Token vectors of skills are kept as int8. Turning them into floats, or multiplying them as floats,
costs several times what the integer instructions take (VNNI on x86, UDOT on ARM). A request's
vectors are cut into two digits of seven bits for that, which loses about as much as the last three
bits of a float32 would: cosines differ from those of a product of floats by about 0.00002.
"""

from __future__ import annotations

import base64
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from router.local.onnx import session

_BASE = 128
_HALF = 64
_LARGEST = (_HALF - 1) * _BASE + _HALF - 1
_SKILL_UNIT = 127.0

# One node, MatMulInteger(query, tokens, 64), as the package onnx serializes it: inputs `query`
# (uint8, m x k) and `tokens` (int8, k x n), output `sums` (int32, m x n). Building it here would
# need that package on every machine.
GRAPH = base64.b64decode(
    "CAgSADqZAQoqCgVxdWVyeQoGdG9rZW5zCgRoYWxmEgRzdW1zIg1NYXRNdWxJbnRlZ2VyEg10b2tlbi1wcm9kdWN0KgsQAioB"
    "QEIEaGFsZloZCgVxdWVyeRIQCg4IAhIKCgMSAW0KAxIBa1oaCgZ0b2tlbnMSEAoOCAMSCgoDEgFrCgMSAW5iGAoEc3VtcxIQ"
    "Cg4IBhIKCgMSAW0KAxIBbkIECgAQDQ=="
)


class Digits(NamedTuple):
    """Token vectors of a request, ready to be multiplied.

    Attributes:
        rows: High digits of all t tokens, then their low digits, each plus 64; uint8, 0..127, so
            that no instruction set saturates when it adds two products; shape (2 t, k).
        units: What 1 stands for in a product with each of the tokens, shape (t,).
    """

    rows: NDArray[np.uint8]
    units: NDArray[np.float32]


def digits(tokens: NDArray[np.float32]) -> Digits:
    """A request's token vectors as digits to the base of 128.

    Args:
        tokens: Finite vectors of any length, shape (t, k).
    """
    largest = np.abs(tokens).max(axis=1, initial=1e-9)
    whole = np.rint(tokens * (_LARGEST / largest)[:, None]).astype(np.int32)
    whole += _HALF * _BASE + _HALF
    rows = np.empty((2 * len(tokens), tokens.shape[1]), dtype=np.uint8)
    rows[: len(tokens)] = whole >> 7
    rows[len(tokens) :] = whole & (_BASE - 1)
    return Digits(rows, (largest / (_LARGEST * _SKILL_UNIT)).astype(np.float32))


def products(query: Digits, block: NDArray[np.int8]) -> NDArray[np.int32]:
    """Products of a request's tokens with those of skills, in the units of each request token.

    Args:
        query: The request's tokens.
        block: Token vectors of skills, int8, 127 standing for 1, transposed, shape (k, n).

    Returns:
        Exact sums, shape (t, n).
    """
    sums: NDArray[np.int32] = _session().run(None, {"query": query.rows, "tokens": block})[0]
    count = len(query.units)
    found = sums[:count]
    found *= _BASE
    found += sums[count:]
    return found


@cache
def _session() -> Any:
    """One for the process: it holds nothing of any index, and its runs are thread-safe."""
    return session(GRAPH, 1)
