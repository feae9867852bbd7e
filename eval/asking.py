"""Asking a router, or an agent, which skill a turn loads, for one roster after another."""

from __future__ import annotations

from collections.abc import Sequence

from eval.data import LabelledTurn
from eval.evaluators import EvaluatorError
from roster import Roster
from roster.store import Store
from router.local.cache import IndexCache
from router.local.encoder import Encoder, load_encoder
from router.local.heads import Heads, heads_for
from router.local.index import build_index
from router.local.judge import LocalJudge
from router.local.pair_reread import pair_reread
from router.local.vectors import SkillVectors
from router.pipeline import Router
from router.profile import Profile
from router.suggestion import Reason
from router.thresholds import Thresholds


class RouterAsk:
    """Asks the local router. Of each further roster only what changed is encoded.

    Args:
        encoder: The encoder.
        heads: The learned numbers.
        thresholds: When to stay silent; by default as the heads say.
        cache: Folder of the index cache, where the index of the first roster may lie.
    """

    def __init__(
        self,
        encoder: Encoder,
        heads: Heads,
        thresholds: Thresholds | None = None,
        cache: str | None = None,
    ) -> None:
        self._encoder = encoder
        self._heads = heads
        self._reread = pair_reread(heads)
        self.thresholds = thresholds or Thresholds.model_validate(
            (self._reread or heads).thresholds
        )
        self._cache = cache
        self._known: dict[tuple[str, str], SkillVectors] = {}

    def __call__(self, roster: Roster, turns: Sequence[LabelledTurn]) -> list[str | None]:
        """The skill the router suggests for each turn, or None."""
        if self._known:
            index = build_index(roster, self._encoder, self._known)
        else:
            index = IndexCache(self._cache, self._encoder).load_or_build(roster)
        for row, key in enumerate(zip(index.names, index.skill_digests, strict=True)):
            self._known.setdefault(key, index.vectors(row))
        judge = LocalJudge(roster, index, self._encoder, self._heads, reread=self._reread)
        judge.excerpt = self.thresholds.excerpt
        router = Router(roster, judge, self.thresholds, judge.digest)
        answers: list[str | None] = []
        for turn in turns:
            suggestion = router.suggest(turn.turn())
            if suggestion.reason is Reason.ROUTER_ERROR:
                raise EvaluatorError(
                    f"the router failed on {turn.text[:60]!r}: {suggestion.detail}"
                )
            answers.append(suggestion.name)
        return answers


def local_ask(
    thresholds: str | None = None, cache: str | None = None, heads: Heads | None = None
) -> tuple[RouterAsk, dict[str, str]]:
    """The shipped local router, and the digests that say which one it is.

    Args:
        thresholds: A TOML file; by default the thresholds of the heads.
        cache: Folder of the index cache.
        heads: Other learned numbers.
    """
    encoder = load_encoder()
    heads = heads_for(encoder.name, encoder.digest, heads)
    numbers = None if thresholds is None else Thresholds.from_toml(thresholds)
    ask = RouterAsk(encoder, heads, numbers, cache)
    about = {
        "asked": "router",
        "encoder": encoder.digest,
        "weights": heads.digest,
        "thresholds": ask.thresholds.digest,
    }
    return ask, about


def profile_ask(store: Store, profile: Profile, cache: str | None = None) -> RouterAsk:
    """The local router under a profile of a store.

    Raises:
        RouterError: If its learned numbers cannot be used with the shipped encoder.
    """
    encoder = load_encoder()
    data = store.file(profile.weights_digest)
    learned = Heads.from_bytes(data, f"{profile.name} {profile.version}")
    heads = heads_for(encoder.name, encoder.digest, learned)
    return RouterAsk(encoder, heads, profile.thresholds, cache)
