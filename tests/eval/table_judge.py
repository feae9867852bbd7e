"""A judge that answers from a table, and labelled turns made for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eval.data import LabelledTurn
from roster import Roster, Skill
from router import Gate, Ranking, Reread, Turn

Fit = Callable[[str, str, int], float]
"""Fit of a skill for a request with an excerpt."""


def skills(count: int) -> Roster:
    return Roster.from_skills(
        Skill(name=f"skill-{i:02}", description=f"Does job {i}.", body="x" * 50)
        for i in range(count)
    )


class TableJudge:
    """Need, order and fits of each request are looked up; the fit may depend on the excerpt."""

    def __init__(
        self, need: dict[str, float], order: dict[str, list[str]], fit: Fit, excerpt: int = 700
    ) -> None:
        self.need, self.order, self.fit, self.excerpt = need, order, fit, excerpt
        self.reread_calls = 0

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        names = self.order[turn.request]
        names = [*names, *(name for name in roster.names if name not in names)]
        weights = np.linspace(1.0, 0.1, len(names))
        need = self.need[turn.request]
        gate = Gate(acts_on_system=need, documented_procedure=need, prose_suffices=1.0 - need)
        ranking = Ranking(
            entries=tuple(zip(names, (weights / weights.sum()).tolist(), strict=True))
        )
        return ranking, gate

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        self.reread_calls += 1
        fits = {s.name: self.fit(turn.request, s.name, self.excerpt) for s in candidates}
        total = sum(fits.values())
        choice = {n: f / total for n, f in fits.items()} if total else dict.fromkeys(fits, 0.0)
        return Reread(choice=choice, fits=fits)


def random_case(
    seed: int, count: int, per_skill: int = 4, signal: float = 1.0, roster_size: int = 30
) -> tuple[Roster, TableJudge, list[LabelledTurn]]:
    """Half of the turns covered; with `signal` 0 the scores say nothing about the labels."""
    rng = np.random.default_rng(seed)
    roster = skills(roster_size)
    turns: list[LabelledTurn] = []
    need: dict[str, float] = {}
    order: dict[str, list[str]] = {}
    table: dict[tuple[str, str], float] = {}
    for i in range(count):
        gold = roster.names[(i // per_skill) % roster_size] if i % 2 else None
        text = f"request {i}"
        turns.append(LabelledTurn(text=text, gold=gold))
        lift = signal if gold else -signal
        need[text] = float(1 / (1 + np.exp(-(lift + rng.normal()))))
        names = [str(n) for n in rng.permutation(roster.names)]
        if gold and rng.random() < 0.8:
            names.remove(gold)
            names.insert(int(rng.integers(0, 3)), gold)
        order[text] = names
        for name in names:
            good = signal if name == gold else -signal
            table[text, name] = float(1 / (1 + np.exp(-(2 * good + rng.normal()))))
    return roster, TableJudge(need, order, lambda text, name, _: table[text, name]), turns
