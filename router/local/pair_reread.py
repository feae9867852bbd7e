"""The reread with a pair scorer: which one, and what it makes of the fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from router.errors import WeightsError
from router.local.encoder import Encoder
from router.local.features import pair_features
from router.local.heads import Heads, RereadHead
from router.local.pair_scorer import NONE, SHIPPED, OnnxPairScorer, PairScorer, load_pair_scorer
from router.local.pair_text import PairInput


class PairReread:
    """A pair scorer with the fits that were learned with it.

    Args:
        scorer: The pair scorer.
        head: The fits.
    """

    def __init__(self, scorer: PairScorer, head: RereadHead) -> None:
        self._scorer = scorer
        self._head = head

    def check(self, encoder: Encoder) -> None:
        """Raise when the pair scorer cannot read an encoder's token vectors.

        Raises:
            WeightsError: If they differ in length: better now than on every turn.
        """
        wanted = self._scorer.token_dimension
        if wanted not in (None, encoder.token_dimension):
            raise WeightsError(
                f"the pair scorer {self._scorer.name!r} reads token vectors of length {wanted}, "
                f"the encoder {encoder.name!r} makes them {encoder.token_dimension} long; train "
                "one for it with skill-router train pair-scorer, or give reranker='none'"
            )

    @property
    def thresholds(self) -> dict[str, float]:
        """Default thresholds of these fits."""
        return self._head.thresholds

    def logits(
        self, pairs: PairInput, features: NDArray[np.float32], fits: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Calibrated fit logits of some candidates.

        Args:
            pairs: The request and the c candidates.
            features: Features of the candidates, columns as in `FIT_NAMES`, shape (c, f).
            fits: Logits of the fits without a pair scorer, shape (c,).

        Returns:
            The logits, shape (c,), and what they were read from, columns as in `REREAD_NAMES`.
        """
        added = pair_features(self._scorer.score(pairs), fits)
        read = np.concatenate([features, added], axis=1)
        return self._head.fits.logits(read), read


def pair_reread(heads: Heads, reranker: str | PairScorer | None = None) -> PairReread | None:
    """The reread of some heads.

    Args:
        heads: The learned numbers.
        reranker: What `load_pair_scorer` takes; "none" for no pair scorer; None for the shipped
            one if the heads were learned with it.

    Returns:
        None when no pair scorer is to be used.

    Raises:
        EncoderError: If the pair scorer cannot be loaded.
        WeightsError: If one is asked for that the heads were not learned with.
    """
    head = heads.reread
    if reranker == NONE or (reranker is None and (head is None or not SHIPPED.is_dir())):
        return None
    scorer = OnnxPairScorer(SHIPPED) if reranker is None else load_pair_scorer(reranker)
    if head is not None and head.scorer_digest == scorer.digest:
        return PairReread(scorer, head)
    if reranker is None:
        return None
    raise WeightsError(
        f"no fits were learned with the reranker {scorer.name!r}; run skill-router train heads "
        f"--reranker {scorer.name} --out heads.json, then load with heads='heads.json'"
    )
