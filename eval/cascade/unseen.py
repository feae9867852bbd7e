"""The local judge as it would answer had it never seen a roster."""

from __future__ import annotations

from roster import Roster
from router.errors import RouterError
from router.local.encoder import Encoder
from router.local.heads import Heads
from router.local.pair_scorer import PairScorer
from router.pipeline import Router


def unseen(
    roster: Roster,
    heads: Heads,
    encoder: Encoder,
    scorer: PairScorer | None = None,
    *,
    reranker: str | None = None,
    thresholds: str | None = None,
    cache: str | None = None,
) -> Router:
    """A router with other models of the same training than the heads were learned with.

    Args:
        roster: The roster.
        heads: The heads; learned without the roster, if it is to be unseen.
        encoder: The encoder.
        scorer: A pair scorer of the same training as the one the heads were learned with; None for
            that one itself.
        reranker: Name of the pair scorer the heads were learned with, see `pair_reread`; "none"
            rereads without. It does not count beside `scorer`.
        thresholds: A TOML file; None for the defaults of the heads.
        cache: Folder of the index cache.

    Raises:
        RouterError: If a model or a file cannot be used.
    """
    swapped: dict[str, object] = {"encoder": encoder.name, "encoder_digest": encoder.digest}
    if scorer is not None:
        if heads.reread is None:
            raise RouterError("the heads were learned without a pair scorer; leave it out")
        same = {"scorer": scorer.name, "scorer_digest": scorer.digest}
        swapped["reread"] = heads.reread.model_copy(update=same)
    return Router.load(
        roster,
        encoder=encoder,
        heads=heads.model_copy(update=swapped),
        reranker=reranker if scorer is None else scorer,
        thresholds=thresholds,
        cache=cache,
    )
