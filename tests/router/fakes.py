"""Judges and encoders whose answers a test decides."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from roster import Roster, Skill
from router import Gate, Ranking, Reread, Turn
from router.local.encoder import Encoded


class ScriptedJudge:
    """Gives the answers it was made with, and remembers what it was asked."""

    def __init__(
        self,
        order: Sequence[str],
        fits: dict[str, float],
        need: float = 0.9,
        choice: dict[str, float] | None = None,
    ) -> None:
        self.order, self.fits, self.need, self.choice = list(order), fits, need, choice
        self.reread_names: list[str] = []

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        share = 1.0 / len(self.order)
        gate = Gate(
            acts_on_system=self.need, documented_procedure=self.need, prose_suffices=1 - self.need
        )
        return Ranking(entries=tuple((name, share) for name in self.order)), gate

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        self.reread_names = [skill.name for skill in candidates]
        fits = {name: self.fits.get(name, 0.0) for name in self.reread_names}
        choice = self.choice if self.choice is not None else fits
        return Reread(choice=choice, fits=fits)


class FailingJudge:
    """Raises at the stage it was made for."""

    def __init__(self, stage: str, error: Exception) -> None:
        self.stage, self.error = stage, error

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        if self.stage == "rank":
            raise self.error
        entries = tuple((name, 1 / len(roster)) for name in roster.names)
        return Ranking(entries=entries), Gate(
            acts_on_system=1, documented_procedure=1, prose_suffices=0
        )

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        raise self.error


class HashEncoder:
    """Words hashed into a small space: fast, deterministic, and counts what it encoded."""

    name, digest, dimension, token_dimension = "hash", "0" * 64, 16, 8

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        self.encoded += list(texts)
        pooled, tokens, importance = [], [], []
        for text in texts:
            words = (text.lower().split() or [""])[:max_tokens]
            rows = np.stack([self._word(word, self.token_dimension) for word in words])
            whole = sum(self._word(word, self.dimension) for word in words)
            pooled.append(whole / max(float(np.linalg.norm(whole)), 1e-9))
            tokens.append(rows)
            importance.append(np.full(len(words), 1 / len(words), dtype=np.float32))
        return Encoded(np.array(pooled, dtype=np.float32), tokens, importance)

    def _word(self, word: str, size: int) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
        vector = np.random.default_rng(seed).normal(size=size)
        return (vector / np.linalg.norm(vector)).astype(np.float32)
