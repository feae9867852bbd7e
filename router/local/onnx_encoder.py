"""The shipped encoder: one ONNX graph and a tokenizer, no torch."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from router.errors import EncoderError
from router.local.encoder import Encoded
from router.local.onnx import default_threads, read_graph, session
from router.local.scripts import CARD, scripts_of_card

_BULK = 16
"""Texts from which on an encode is spread over the cores."""


class _Row(NamedTuple):
    """What an encode of one text gives; see `Encoded`."""

    pooled: NDArray[np.float32]
    tokens: NDArray[np.float32]
    importance: NDArray[np.float32]
    spans: NDArray[np.int64]


SHIPPED = Path(__file__).parent / "weights" / "encoder"


class OnnxEncoder:
    """An encoder of the folder layout that `skill-router train export` writes.

    The folder holds ``encoder.onnx`` (inputs ``input_ids`` and ``attention_mask``, int64, shape
    (m, t); outputs ``pooled`` (m, d), ``tokens`` (m, t, k) and ``importance`` (m, t)),
    ``tokenizer.json`` and ``encoder.json`` (name, dimensions, digest of the graph).

    Args:
        folder: The folder.
        threads: Threads of one inference; by default at most two, since the router shares the
            machine with the agent it serves.

    Raises:
        EncoderError: If a file is missing or damaged.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        from tokenizers import Tokenizer

        try:
            graph = read_graph(folder, "encoder")
            self._graph = graph.content
            self._threads = threads or default_threads()
            self._session: Any = session(graph.content, self._threads)
            # onnxruntime's thread-safe; the tokenizer is when its settings are left alone.
            words = graph.tokenizer or (folder / "tokenizer.json").read_bytes()
            self._tokenizer: Any = Tokenizer.from_buffer(words)
        except EncoderError:
            raise
        except Exception as error:  # onnxruntime and tokenizers raise types of their own
            raise EncoderError(
                f"{folder}: is not a usable encoder ({error}); install the package again, or make "
                "it with skill-router train export"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.name: str = graph.card["name"]
        self.dimension: int = graph.card["dimension"]
        self.token_dimension: int = graph.card["token_dimension"]
        self.scripts = scripts_of_card(graph.card, folder / CARD)
        self.digest: str = graph.digest

    @classmethod
    def shipped(cls) -> OnnxEncoder:
        """The encoder that comes with the package."""
        return cls(SHIPPED)

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """Encode texts, each alone; see `Encoder.encode`.

        Activations are quantized on a scale of the whole batch, so in a batch a text's vector
        would depend on its neighbours. Alone it does not, and on a CPU it is no slower.
        """
        if len(texts) < _BULK or self._threads == 1:
            rows = [self._run(self._session, text, max_tokens) for text in texts]
        else:
            # Many texts are spread over the cores: a thread a text beats several threads on one.
            bulk = self._bulk_session
            with ThreadPoolExecutor(self._threads) as pool:
                rows = list(pool.map(lambda text: self._run(bulk, text, max_tokens), texts))
        pooled = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, one in enumerate(rows):
            pooled[row] = one.pooled
        return Encoded(
            pooled,
            [row.tokens for row in rows],
            [row.importance for row in rows],
            [row.spans for row in rows],
        )

    @cached_property
    def _bulk_session(self) -> Any:
        # Made when an index is built, so a process that finds its index in the cache never pays.
        return session(self._graph, 1)

    def _run(self, graph: Any, text: str, max_tokens: int) -> _Row:
        # 12 characters a token is more than any text needs; the rest is never tokenized.
        cut = self._tokenizer.encode(text[: max_tokens * 12])
        ids = np.array([_shortened(cut.ids, max_tokens)], dtype=np.int64)
        spans = np.array(_shortened(cut.offsets, max_tokens), dtype=np.int64).reshape(-1, 2)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        pooled, tokens, importance = graph.run(["pooled", "tokens", "importance"], inputs)
        return _Row(pooled[0], tokens[0], importance[0], spans)


def _shortened(tokens: list[Any], most: int) -> list[Any]:
    """The first tokens, and the last one, which marks the end."""
    return tokens if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]]
