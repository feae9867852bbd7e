"""Models that read a request and a skill together, for the reread."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from router.errors import EncoderError
from router.local.onnx import read_graph, session
from router.local.pair_text import PairInput

SHIPPED = Path(__file__).parent / "weights" / "pair-scorer"
INPUTS = frozenset({"request", "importance", "presence", "skill"})
"""What the graph of an exported pair scorer reads."""
NONE = "none"
"""The name that turns the reread by a pair scorer off."""


@runtime_checkable
class PairScorer(Protocol):
    """Scores pairs; thread-safe.

    Attributes:
        name: What it was loaded by.
        digest: Changes when the scores may change.
        token_dimension: Length of the token vectors it reads; None when it reads the texts.
    """

    name: str
    digest: str
    token_dimension: int | None

    def score(self, pairs: PairInput) -> NDArray[np.float32]:
        """How well each skill does what the request asks.

        Args:
            pairs: The request and the skills.

        Returns:
            Logits, shape (c,); the score of a skill does not depend on the others.
        """
        ...


class OnnxPairScorer:
    """A pair scorer of the folder layout that `skill-router train export` writes.

    It reads the token vectors that the encoder made and the index keeps, so it belongs to one
    encoder. The folder holds ``pair-scorer.onnx`` (inputs ``request`` (1, t, k), ``importance``
    (1, t), ``presence`` (1, t, 4) and ``skill`` (1, l, k), float32; output ``logit`` (1,)) and
    ``pair-scorer.json`` (name, digest of the graph, dimension).

    Args:
        folder: The folder.

    Raises:
        EncoderError: If a file is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        try:
            graph = read_graph(folder, "pair-scorer")
            # A pair is too little work to share: one thread, and turns run side by side.
            self._session: Any = session(graph.content, 1)
            found = {one.name for one in self._session.get_inputs()}
            if found != INPUTS:
                raise EncoderError(
                    f"{folder}: this version's pair scorers read {', '.join(sorted(INPUTS))}, "
                    f"this one {', '.join(sorted(found))}; train it again with skill-router train "
                    "pair-scorer, then train export"
                )
            self.name: str = graph.card["name"]
            self.token_dimension: int | None = int(graph.card["dimension"])
        except EncoderError:
            raise
        except Exception as error:  # onnxruntime raises types of its own
            raise EncoderError(
                f"{folder}: is not a usable pair scorer ({error}); install the package again, or "
                "make it with skill-router train export"
            ) from error
        self.digest: str = graph.digest

    def score(self, pairs: PairInput) -> NDArray[np.float32]:
        """Score the skills, each alone."""
        fixed = {"request": pairs.tokens[None], "importance": pairs.importance[None]}
        return np.array(
            [
                self._session.run(
                    ["logit"], {**fixed, "presence": present[None], "skill": block[None]}
                )[0][0]
                for block, present in zip(pairs.blocks, pairs.presence, strict=True)
            ],
            dtype=np.float32,
        )


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
