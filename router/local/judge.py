"""The local judge: signals, learned fusion, gate and fits."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from roster import Roster, Skill
from router.errors import RouterError
from router.index.look import LARGE, Look, Looker, Whole
from router.local.cache import IndexCache
from router.local.courtesy import is_courtesy
from router.local.encoder import Encoder, load_encoder
from router.local.excerpt import DEFAULT_EXCERPT, Reader
from router.local.features import fit_features, pair_features, softmax
from router.local.heads import Heads, heads_for
from router.local.index import SkillIndex
from router.local.pair_reread import PairReread, pair_reread
from router.local.pair_scorer import PairScorer
from router.local.pair_text import pair_input, wording_beside
from router.local.scripts import as_read
from router.local.vectors import Progress
from router.suggestion import Gate, Ranking, Reread
from router.turn import Turn

_NO_NEED = Gate(acts_on_system=0.01, documented_procedure=0.01, prose_suffices=0.99)

POOL = 10
"""Best skills of the wide rank whose features see each other in the reread."""


class LocalJudge:
    """Answers from a roster's index; offline and thread-safe.

    Args:
        roster: The roster the index was made for.
        index: Its index, or what looks at a large roster for a turn.
        encoder: The encoder of the index.
        heads: The learned numbers.
        excerpt: Characters of a body that the reread sees.
        reread: The reread with a pair scorer, if there is to be one.

    Raises:
        WeightsError: If the pair scorer reads token vectors of another length than the encoder's.
    """

    def __init__(
        self,
        roster: Roster,
        index: SkillIndex | Looker,
        encoder: Encoder,
        heads: Heads,
        excerpt: int = DEFAULT_EXCERPT,
        reread: PairReread | None = None,
    ) -> None:
        self.excerpt = excerpt
        self._roster = roster
        self.looker = Whole(index, encoder) if isinstance(index, SkillIndex) else index
        self.heads = heads
        self._pair_reread = reread
        if reread is not None:
            reread.check(encoder)
        self._recent: OrderedDict[Turn, Look] = OrderedDict()
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
        index: str | None = None,
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
            index: What finds the candidates of a large roster; see `router.index.load.load_pool`.
                By default every skill of a roster of up to `LARGE` is looked at, and "exact"
                serves a larger one.

        Raises:
            EncoderError: If the encoder or the reranker cannot be loaded.
            WeightsError: If there are no learned numbers for it.
        """
        loaded = load_encoder(encoder)
        learned = heads_for(loaded.name, loaded.digest, heads)
        reread = pair_reread(learned, reranker)
        seen = as_read(roster, loaded)
        if index is None and len(roster) <= LARGE:
            small = IndexCache(cache, loaded).load_or_build(seen, progress)
            return cls(roster, small, loaded, learned, reread=reread)
        from router.index.load import load_pool

        pool = load_pool(seen, loaded, cache, progress, index or "exact")
        return cls(roster, pool, loaded, learned, reread=reread)

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

        Of a large roster the ranking names the best few hundred. Copies of a skill stand in it
        once, and skills whose tools the turn lacks do not.

        Raises:
            RouterError: If the roster is not the one this judge was made for.
        """
        if roster is not self._roster and roster.digest != self._roster.digest:
            raise RouterError("this judge holds the index of another roster; load one for this one")
        look = self._look(turn)
        order = np.argsort(-look.logits, kind="stable")
        probabilities = np.minimum(softmax(look.logits)[order], np.float32(1.0)).tolist()
        names = [look.names[row] for row in order.tolist()]
        entries = tuple(zip(names, probabilities, strict=True))
        gate = _NO_NEED
        if not is_courtesy(turn.request_text):
            acts, procedure, prose = (float(p) for p in self.heads.gate(look.signals.mixed))
            gate = Gate(acts_on_system=acts, documented_procedure=procedure, prose_suffices=prose)
        return Ranking(entries=entries), gate

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """Score the candidates' fit with everything known of them; see `Judge.reread`.

        Raises:
            RouterError: If a candidate is not in the roster.
        """
        if not candidates:
            return Reread()
        unknown = [skill.name for skill in candidates if skill.name not in self._roster]
        if unknown:
            raise RouterError(f"not in this judge's roster: {', '.join(unknown)}")
        look = self._look(turn, [skill.name for skill in candidates])
        signals, logits = look.signals, look.logits
        rows = np.array([look.rows[skill.name] for skill in candidates], dtype=np.int64)
        best = np.argsort(-logits, kind="stable")[:POOL]
        pool = np.concatenate([rows, best[~np.isin(best, rows)]])
        features = fit_features(
            signals,
            logits,
            self.heads.gate(signals.mixed),
            pool,
            candidates,
            look.index,
            self.excerpt,
            self._reader,
        )
        fit_logits = self.heads.fits.logits(features)
        pairs = pair_input(turn.request_text, signals, look.index, rows, candidates, self._reader)
        if self._pair_reread is not None:
            fit_logits, features = self._pair_reread.logits(pairs, features, fit_logits)
        else:
            # What no pair scorer has read, the fits alone stand for.
            added = pair_features(fit_logits, fit_logits)
            features = np.concatenate([features, added], axis=1)
        best_fit = int(fit_logits.argmax())
        names = [skill.name for skill in candidates]
        fits = 1.0 / (1.0 + np.exp(-fit_logits))
        return Reread(
            choice=dict(zip(names, softmax(fit_logits).clip(0, 1).tolist(), strict=True)),
            fits=dict(zip(names, fits.tolist(), strict=True)),
            evidence=(*features[best_fit].tolist(), *wording_beside(pairs, best_fit)),
        )

    def _look(self, turn: Turn, also: Sequence[str] = ()) -> Look:
        """Signals and wide logits of a turn, kept for the reread that follows the rank."""
        with self._lock:
            known = self._recent.get(turn)
        if known is not None and all(name in known.rows for name in also):
            return known
        look = self.looker.look(turn, self.heads.wide, also)
        with self._lock:
            self._recent[turn] = look
            while len(self._recent) > self.looker.remembered:
                self._recent.popitem(last=False)
        return look
