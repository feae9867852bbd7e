"""Signals of labelled turns on their rosters, and on the same rosters with skills left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.data import LabelledTurn
from roster import Roster, Skill
from router.local.encoder import QUERY_TOKENS, Encoded, Encoder
from router.local.index import SkillIndex, assemble
from router.local.signals import Signals, compute_signals, mixed_vector
from router.local.vectors import SkillVectors, encode_skills


@dataclass(frozen=True)
class Prepared:
    """One roster with the signals of its labelled turns.

    Attributes:
        group: Which roster the turns belong to; splits never cut through a group.
        skills: The skills that are there.
        index: Their index.
        turns: The labelled turns.
        gold: Row of the right skill in the index, -1 when none fits, shape (m,).
        left_out: Whether a turn's right skill was taken out of the roster, shape (m,).
        signals: Signals of each turn.
        vectors: What the gate reads of each turn, from the encoder that is shipped; shape (m, d).
    """

    group: str
    skills: list[Skill]
    index: SkillIndex
    turns: list[LabelledTurn]
    gold: NDArray[np.int64]
    left_out: NDArray[np.bool_]
    signals: list[Signals]
    vectors: NDArray[np.float32]


class RememberingEncoder:
    """An encoder that encodes each text once: the same requests meet many rosters."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[tuple[str, int], Encoded] = {}
        self.name = encoder.name
        self.digest = encoder.digest
        self.dimension = encoder.dimension
        self.token_dimension = encoder.token_dimension

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """See `Encoder.encode`."""
        missing = [text for text in dict.fromkeys(texts) if (text, max_tokens) not in self._known]
        if missing:
            fresh = self._encoder.encode(missing, max_tokens)
            for i, text in enumerate(missing):
                self._known[text, max_tokens] = Encoded(
                    fresh.pooled[i : i + 1],
                    fresh.tokens[i : i + 1],
                    fresh.importance[i : i + 1],
                    fresh.spans[i : i + 1],
                )
        found = [self._known[text, max_tokens] for text in texts]
        return Encoded(
            np.concatenate([one.pooled for one in found]),
            [one.tokens[0] for one in found],
            [one.importance[0] for one in found],
            [span for one in found for span in one.spans],
        )


def prepare(
    group: str,
    roster: Roster,
    turns: Sequence[LabelledTurn],
    encoder: Encoder,
    thinned: int = 0,
    seed: int = 0,
    keep_share: float = 0.34,
    gate_encoder: Encoder | None = None,
    small: Sequence[int] = (),
) -> list[Prepared]:
    """Compute the signals of labelled turns.

    Args:
        group: Name of the roster.
        roster: The roster.
        turns: Its labelled turns.
        encoder: The encoder.
        thinned: How many parts the skills are divided into; for each part there is one more roster
            without it. Turns whose right skill is gone are near misses there: the best of the rest
            is close, and wrong.
        seed: Seed of the division and of the turns kept.
        keep_share: Share of the other turns that a thinned roster keeps.
        gate_encoder: The encoder whose vectors the gate reads, when it is another one: the gate
            has a weight for every dimension, so it cannot be learned on one encoder's vectors and
            used on another's.
        small: Sizes of small rosters; for each, the skills are divided into rosters of about that
            size, so that fits keep their meaning for someone who has a dozen skills.

    Returns:
        The full roster, then the thinned ones, then the small ones.
    """
    remembering = RememberingEncoder(encoder)
    gate = RememberingEncoder(gate_encoder) if gate_encoder else remembering
    vectors = encode_skills(encoder, list(roster))
    rng = np.random.default_rng([seed, *group.encode()])
    everything = np.arange(len(roster))
    kepts = [everything]
    if thinned > 1:
        parts = np.array_split(rng.permutation(everything), thinned)
        kepts += [np.setdiff1d(everything, part) for part in parts]
    for size in small:
        if size * 2 <= len(roster):
            kepts += np.array_split(rng.permutation(everything), len(roster) // size)
    found = []
    for number, kept in enumerate(kepts):
        here = {roster[int(row)].name for row in kept}
        inside = [turn for turn in turns if turn.gold in here]
        outside = [turn for turn in turns if turn.gold not in here]
        if number == 0:
            chosen = list(turns)
        elif number <= thinned:
            # Most skills are there: the turns whose skill is gone, and some of the others.
            gone = [turn for turn in outside if turn.covered]
            rest = [turn for turn in turns if not turn.covered or turn.gold in here]
            chosen = gone + [turn for turn in rest if rng.random() < keep_share]
        else:
            count = min(len(outside), max(4, round(0.6 * len(inside))))
            picked = rng.choice(len(outside), count, replace=False)
            chosen = inside + [outside[int(i)] for i in picked]
        found.append(_signals(group, roster, kept, vectors, chosen, remembering, gate))
    return found


def _signals(
    group: str,
    roster: Roster,
    kept: NDArray[np.int64],
    vectors: Sequence[SkillVectors],
    turns: list[LabelledTurn],
    encoder: Encoder,
    gate: Encoder,
) -> Prepared:
    skills = [roster[int(row)] for row in kept]
    index = assemble(skills, [vectors[int(row)] for row in kept], encoder)
    rows = {name: row for row, name in enumerate(index.names)}
    gold = np.array([rows.get(turn.gold or "", -1) for turn in turns], dtype=np.int64)
    left_out = np.array([turn.covered for turn in turns], dtype=np.bool_) & (gold < 0)
    signals = [compute_signals(turn.turn(), index, encoder) for turn in turns]
    read = [turn_vector(turn, gate) for turn in turns]
    stacked = np.array(read, dtype=np.float32).reshape(len(turns), gate.dimension)
    return Prepared(group, skills, index, turns, gold, left_out, signals, stacked)


def turn_vector(turn: LabelledTurn, encoder: Encoder) -> NDArray[np.float32]:
    """What the gate reads of a turn: its request, the recent context mixed in; shape (d,)."""
    asked = turn.turn()
    texts = [asked.request_text, *filter(None, [asked.context_text])]
    return mixed_vector(encoder.encode(texts, QUERY_TOKENS).pooled)
