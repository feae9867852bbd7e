"""The local judge: signals, learned fusion, gate and fits."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from roster import Roster, Skill
from router.errors import RouterError
from router.local.cache import IndexCache
from router.local.encoder import Encoder, load_encoder
from router.local.excerpt import DEFAULT_EXCERPT, Reader
from router.local.features import fit_features, softmax, wide_features
from router.local.heads import Heads, heads_for
from router.local.index import SkillIndex
from router.local.pair_reread import PairReread, pair_reread
from router.local.pair_scorer import PairScorer
from router.local.scripts import as_read
from router.local.signals import Signals, compute_signals
from router.local.vectors import Progress
from router.suggestion import Gate, Ranking, Reread
from router.turn import Turn

POOL = 10
"""Best skills of the wide rank whose features see each other in the reread."""

_REMEMBERED = 64


class LocalJudge:
    """Answers from a roster's index; offline and thread-safe.

    Args:
        roster: The roster the index was made for.
        index: Its index.
        encoder: The encoder of the index.
        heads: The learned numbers.
        excerpt: Characters of a body that the reread sees.
        reread: The reread with a pair scorer, if there is to be one.
    """

    def __init__(
        self,
        roster: Roster,
        index: SkillIndex,
        encoder: Encoder,
        heads: Heads,
        excerpt: int = DEFAULT_EXCERPT,
        reread: PairReread | None = None,
    ) -> None:
        self.excerpt = excerpt
        self._roster = roster
        self._index = index
        self._encoder = encoder
        self.heads = heads
        self._pair_reread = reread
        self._rows = {name: row for row, name in enumerate(index.names)}
        self._recent: OrderedDict[Turn, tuple[Signals, NDArray[np.float32]]] = OrderedDict()
        self._lock = threading.Lock()
        self._reader = Reader()

    @classmethod
    def load(
        cls,
        roster: Roster,
        encoder: str | Encoder | None = None,
        heads: str | Path | Heads | None = None,
        cache: str | Path | None = None,
        progress: Progress | None = None,
        reranker: str | PairScorer | None = None,
    ) -> Self:
        """A judge for a roster, its index from the cache when it is there.

        Args:
            roster: The roster.
            encoder: See `router.local.encoder.load_encoder`.
            heads: A heads file, or heads already read; by default those shipped for the encoder.
            cache: The cache folder; see `router.local.cache.cache_folder`.
            progress: Told how many skills are encoded when an index is built.
            reranker: The pair scorer of the reread; see `router.local.pair_scorer`. By default
                the shipped one when the heads were learned with it; "none" for no pair scorer.

        Raises:
            EncoderError: If the encoder or the reranker cannot be loaded.
            WeightsError: If there are no learned numbers for it.
        """
        loaded = load_encoder(encoder)
        learned = heads_for(loaded.name, loaded.digest, heads)
        reread = pair_reread(learned, reranker)
        index = IndexCache(cache, loaded).load_or_build(as_read(roster, loaded), progress)
        return cls(roster, index, loaded, learned, reread=reread)

    @property
    def digest(self) -> str:
        """Digest of the learned numbers."""
        return self.heads.digest

    @property
    def thresholds(self) -> dict[str, float]:
        """The default thresholds of the fits in use."""
        return (self._pair_reread or self.heads).thresholds

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        """Rank every skill and answer the three gate questions; see `Judge.rank`.

        Raises:
            RouterError: If the roster is not the one this judge was made for.
        """
        if roster is not self._roster and roster.digest != self._roster.digest:
            raise RouterError("this judge holds the index of another roster; load one for this one")
        signals, logits = self._signals(turn)
        order = np.argsort(-logits, kind="stable")
        probabilities = softmax(logits)
        entries = tuple(
            (self._index.names[row], min(1.0, float(probabilities[row]))) for row in order
        )
        acts, procedure, prose = (float(p) for p in self.heads.gate(signals.mixed))
        gate = Gate(acts_on_system=acts, documented_procedure=procedure, prose_suffices=prose)
        return Ranking(entries=entries), gate

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """Score the candidates' fit with everything known of them; see `Judge.reread`.

        Raises:
            RouterError: If a candidate is not in the roster.
        """
        if not candidates:
            return Reread()
        unknown = [skill.name for skill in candidates if skill.name not in self._rows]
        if unknown:
            raise RouterError(f"not in this judge's roster: {', '.join(unknown)}")
        signals, logits = self._signals(turn)
        rows = np.array([self._rows[skill.name] for skill in candidates], dtype=np.int64)
        best = np.argsort(-logits, kind="stable")[:POOL]
        pool = np.concatenate([rows, best[~np.isin(best, rows)]])
        features = fit_features(
            signals,
            logits,
            self.heads.gate(signals.mixed),
            pool,
            candidates,
            self._index,
            self.excerpt,
            self._reader,
        )
        fit_logits = self.heads.fits.logits(features)
        if self._pair_reread is not None:
            fit_logits = self._pair_reread.logits(
                turn.request_text, candidates, features, fit_logits
            )
        names = [skill.name for skill in candidates]
        fits = 1.0 / (1.0 + np.exp(-fit_logits))
        return Reread(
            choice=dict(zip(names, softmax(fit_logits).clip(0, 1).tolist(), strict=True)),
            fits=dict(zip(names, fits.tolist(), strict=True)),
        )

    def _signals(self, turn: Turn) -> tuple[Signals, NDArray[np.float32]]:
        """Signals and wide logits of a turn, kept for the reread that follows the rank."""
        with self._lock:
            known = self._recent.get(turn)
        if known is not None:
            return known
        signals = compute_signals(turn, self._index, self._encoder)
        logits = self.heads.wide(wide_features(signals.matrix))
        with self._lock:
            self._recent[turn] = (signals, logits)
            while len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)
        return signals, logits
