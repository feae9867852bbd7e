"""A judge and an encoder that cost next to nothing, for entries that are not about judging."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roster import Roster, Skill
from router.local.encoder import Encoded
from router.local.heads import FOLDER, GateHead, Heads
from router.pipeline import Router
from router.suggestion import Gate, Ranking, Reread
from router.turn import Turn


class WordJudge:
    """Prefers the skill whose name and description share most words with the request."""

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        """Rank by shared words; every turn needs a skill."""
        shared = {skill.name: _shared(turn, skill) for skill in roster}
        total = sum(shared.values()) + len(shared)
        order = sorted(shared, key=lambda name: (-shared[name], name))
        gate = Gate(acts_on_system=0.9, documented_procedure=0.9, prose_suffices=0.1)
        return Ranking(entries=tuple((n, (shared[n] + 1) / total) for n in order)), gate

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        """Half a fit for every shared word."""
        fits = {skill.name: min(1.0, _shared(turn, skill) / 2) for skill in candidates}
        return Reread(choice=fits, fits=fits)


class HashEncoder:
    """Words hashed into a small space: fast and deterministic.

    Attributes:
        name: "hash".
        digest: Fixed.
        dimension: 16.
        token_dimension: 8.
    """

    name = "hash"
    digest = "0" * 64
    dimension = 16
    token_dimension = 8

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """See `router.local.encoder.Encoder.encode`."""
        pooled, tokens, importance = [], [], []
        for text in texts:
            words = (text.lower().split() or [""])[:max_tokens]
            rows = np.stack([_vector(word, self.token_dimension) for word in words])
            whole = np.sum([_vector(word, self.dimension) for word in words], axis=0)
            pooled.append(whole / max(float(np.linalg.norm(whole)), 1e-9))
            tokens.append(rows)
            importance.append(np.full(len(words), 1 / len(words), dtype=np.float32))
        shape = (-1, self.dimension)
        return Encoded(np.array(pooled, dtype=np.float32).reshape(shape), tokens, importance)


@lru_cache(maxsize=1)
def light_heads() -> Heads:
    """The shipped heads for `HashEncoder`, without pair scorer; every turn passes the gate."""
    shipped = Heads.from_file(FOLDER / "heads-skill-router.json")
    row = (0.0,) * HashEncoder.dimension
    gate = GateHead(weights=(row, row, row), bias=(2.0, 2.0, -2.0))
    return shipped.model_copy(
        update={
            "encoder": HashEncoder.name,
            "encoder_digest": HashEncoder.digest,
            "gate": gate,
            "reread": None,
        }
    )


def light_router(roster: Roster, cache: str | Path) -> Router:
    """The local judge as it is shipped but for its encoder and gate."""
    return Router.load(roster, encoder=HashEncoder(), heads=light_heads(), cache=cache)


def small_roster() -> Roster:
    """A few skills that nobody confuses, one of which needs a tool."""
    texts = (
        ("kite-repair", "Mend torn kite sails and broken spars.", "Glue the spar.", ()),
        ("bread-bake", "Bake sourdough bread from a starter.", "Knead the dough.", ("oven",)),
        ("tax-return", "Fill in the yearly tax return form.", "Collect the receipts.", ()),
        ("bike-service", "Oil the chain and adjust the brakes of a bike.", "Degrease it.", ()),
    )
    return Roster.from_skills(
        Skill(name=name, description=description, body=body, requires=requires)
        for name, description, body, requires in texts
    )


def _shared(turn: Turn, skill: Skill) -> int:
    known = set(f"{skill.name.replace('-', ' ')} {skill.description}".lower().split())
    return len(known & set(turn.request_text.lower().split()))


def _vector(word: str, size: int) -> NDArray[np.float32]:
    digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
    vector = np.frombuffer(digest[:size], dtype=np.uint8).astype(np.float32) / 127.5 - 1.0
    made: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
    return made
