"""How the service makes routers: one encoder and one setup for all rosters."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from roster import Roster
from roster.suspicion import Quarantine
from router.errors import RouterError
from router.local.encoder import Encoder, load_encoder
from router.local.heads import heads_for
from router.local.pair_scorer import NONE, PairScorer, load_pair_scorer
from router.pipeline import Router
from router.thresholds import Thresholds

if TYPE_CHECKING:
    from router.systemone.serving import SystemOneServer


class RouterMaker:
    """Makes routers that share an encoder.

    Args:
        thresholds: A TOML file; None takes those shipped.
        encoder: See `router.local.encoder.load_encoder`.
        heads: A heads file; None takes the shipped one of the encoder.
        cache: Folder of the index cache; None takes the user's.
        reranker: See `router.local.pair_reread.pair_reread`; one that is named is loaded once.
        quarantine: See `Router.load`.

    Raises:
        RouterError: If anything of the setup is wrong.
    """

    def __init__(
        self,
        thresholds: str | Path | None = None,
        encoder: str | Encoder | None = None,
        heads: str | Path | None = None,
        cache: str | Path | None = None,
        reranker: str | None = None,
        quarantine: str | None = None,
    ) -> None:
        self._encoder = _one_thread_encoder() if encoder is None else load_encoder(encoder)
        self._thresholds = None if thresholds is None else Thresholds.from_toml(thresholds)
        self._stopping = threading.Event()
        self._heads = heads
        self._cache = cache
        self._quarantine = Quarantine.of(quarantine)
        heads_for(self._encoder.name, self._encoder.digest, heads)
        self._reranker: str | PairScorer | None = reranker
        if reranker is not None and reranker != NONE:
            self._reranker = load_pair_scorer(reranker)

    def __call__(self, roster: Roster) -> Router:
        """The router of a roster."""
        return Router.load(
            roster,
            thresholds=self._thresholds,
            encoder=self._encoder,
            heads=self._heads,
            reranker=self._reranker,
            cache=self._cache,
            progress=self._go_on,
            quarantine=self._quarantine,
        )

    def close(self) -> None:
        """Break off whatever is being indexed: the process wants to end."""
        self._stopping.set()

    def _go_on(self, done: int, total: int) -> None:
        if self._stopping.is_set():
            raise RouterError("the service is leaving")

    def system_one(self) -> SystemOneServer:
        """A System One server with the same encoder and weights."""
        from router.systemone.rosters import RosterJudges
        from router.systemone.serving import SystemOneServer

        learned = heads_for(self._encoder.name, self._encoder.digest, self._heads)
        return SystemOneServer(RosterJudges(self._encoder, learned, reranker=self._reranker))


def _one_thread_encoder() -> Encoder:
    """The shipped encoder; the service's own threads are all the parallelism there is."""
    from router.local.onnx_encoder import SHIPPED, OnnxEncoder

    return OnnxEncoder(SHIPPED, threads=1)
