"""Models that read a request and a skill together, for the reread."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from router.errors import EncoderError
from router.local.onnx import default_threads, read_graph, session
from router.local.pair_text import PAIR_TOKENS, REQUEST_TOKENS, pair_ids

SHIPPED = Path(__file__).parent / "weights" / "pair-scorer"
NONE = "none"
"""The name that turns the reread by a pair scorer off."""
_BULK = 16


@runtime_checkable
class PairScorer(Protocol):
    """Scores pairs; thread-safe.

    Attributes:
        name: What it was loaded by.
        digest: Changes when the scores may change.
    """

    name: str
    digest: str

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """How well each skill does what its request asks.

        Args:
            pairs: (request, `router.local.pair_text.pair_text` of a skill).

        Returns:
            Logits, shape (m,); the score of a pair does not depend on the other pairs.
        """
        ...


class OnnxPairScorer:
    """A pair scorer of the folder layout that `skill-router train export` writes.

    The folder holds ``pair-scorer.onnx`` (inputs ``input_ids``, ``attention_mask`` and
    ``token_type_ids``, int64, shape (m, t); output ``logit`` (m,)), ``tokenizer.json`` and
    ``pair-scorer.json`` (name, digest of the graph).

    Args:
        folder: The folder.
        threads: Threads of one inference; by default at most two.

    Raises:
        EncoderError: If a file is missing or damaged.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        try:
            graph = read_graph(folder, "pair-scorer")
            self._graph = graph.content
            self._threads = threads or default_threads()
            self._session: Any = session(graph.content, self._threads)
            self._tokenizer = graph.tokenizer
            self.name: str = graph.card["name"]
        except EncoderError:
            raise
        except Exception as error:  # onnxruntime and tokenizers raise types of their own
            raise EncoderError(
                f"{folder}: is not a usable pair scorer ({error}); install the package again, or "
                "make it with skill-router train export"
            ) from error
        self.digest: str = graph.digest

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Score pairs, each alone: activations are quantized on a scale of the whole batch."""
        if len(pairs) < _BULK or self._threads == 1:
            scores = [self._run(self._session, pair) for pair in pairs]
        else:
            bulk = self._bulk_session
            with ThreadPoolExecutor(self._threads) as pool:
                scores = list(pool.map(lambda pair: self._run(bulk, pair), pairs))
        return np.array(scores, dtype=np.float32)

    @cached_property
    def _bulk_session(self) -> Any:
        return session(self._graph, 1)

    def _run(self, graph: Any, pair: tuple[str, str]) -> float:
        request, skill = pair
        ids, segments = pair_ids(
            self._tokenizer.encode(request[: REQUEST_TOKENS * 12]).ids,
            self._tokenizer.encode(skill[: PAIR_TOKENS * 12]).ids,
        )
        row = np.array([ids], dtype=np.int64)
        inputs = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.array([segments], dtype=np.int64),
        }
        return float(graph.run(["logit"], inputs)[0][0])


def load_pair_scorer(name: str | PairScorer) -> PairScorer:
    """The pair scorer of a name.

    Args:
        name: A folder that `skill-router train export` wrote; a sentence-transformers CrossEncoder
            by folder or name (needs the extra `train`); or a pair scorer already made.

    Raises:
        EncoderError: If it cannot be loaded; the message says what to install or mend.
    """
    if not isinstance(name, str):
        return name
    path = Path(name).expanduser()
    if (path / "pair-scorer.onnx").is_file():
        return OnnxPairScorer(path)
    try:
        from router.local.cross_encoder import CrossEncoderScorer
    except ImportError as error:
        raise EncoderError(
            f"the reranker {name!r} needs sentence-transformers ({error}); "
            "pip install 'skill-router[train]'"
        ) from error
    return CrossEncoderScorer(name)
