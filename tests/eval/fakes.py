"""A judge of words, and the turns and roster of the benchmark tests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eval.data import LabelledTurn
from roster import Roster, Skill
from router import Gate, Ranking, Reread, Turn


class WordJudge:
    """Ranks by shared words: deterministic, quick, and wrong now and then."""

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        scores = {skill.name: 0.01 + _shared(turn, skill) for skill in roster}
        total = sum(scores.values())
        entries = sorted(((n, s / total) for n, s in scores.items()), key=lambda e: (-e[1], e[0]))
        prose = 0.9 if turn.request.lower().startswith(("what", "why", "explain")) else 0.1
        return Ranking(entries=tuple(entries)), Gate(
            acts_on_system=1 - prose, documented_procedure=0.5, prose_suffices=prose
        )

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        scores = {s.name: _shared(turn, s) for s in candidates}
        total = sum(scores.values()) or 1.0
        return Reread(
            choice={name: score / total for name, score in scores.items()},
            fits={name: min(1.0, score / 3.0) for name, score in scores.items()},
        )


def _shared(turn: Turn, skill: Skill) -> float:
    words = set(re.findall(r"\w{4,}", turn.request.lower()))
    return float(
        len(words & set(re.findall(r"\w{4,}", f"{skill.name} {skill.description}".lower())))
    )


def shop() -> Roster:
    """Four skills in two categories."""
    rows = (
        ("kite-repair", "outdoor", "Mend torn kite sails and broken spars."),
        ("kite-design", "outdoor", "Draw a new kite sail pattern to scale."),
        ("bread-bake", "kitchen", "Bake sourdough bread from a starter."),
        ("jam-cook", "kitchen", "Cook jam from summer fruit and fill jars."),
    )
    return Roster.from_skills(
        Skill(name=name, category=category, description=text, body=text)
        for name, category, text in rows
    )


def shop_turns() -> list[LabelledTurn]:
    """Twelve turns: seven that a skill covers, five that none covers."""
    covered = (
        ("Mend the torn sail of my red kite", "kite-repair"),
        ("The spars of the blue kite are broken, repair them", "kite-repair"),
        ("Draw a sail pattern for a delta kite", "kite-design"),
        ("Bake a sourdough bread for Sunday", "bread-bake"),
        ("Feed my starter and get a loaf ready", "bread-bake"),
        ("Cook plum jam and fill six jars", "jam-cook"),
        ("Put up the summer fruit", "jam-cook"),
    )
    uncovered = (
        ("What is a monad?", "technical"),
        ("Why is the sky blue at noon?", "everyday"),
        ("Draw a picture of bread", "near_miss"),
        ("Say hello to the neighbours", "everyday"),
        ("Fill the tank of the car", "near_miss"),
    )
    turns = [LabelledTurn(text=text, gold=gold, kind="covered") for text, gold in covered]
    return turns + [LabelledTurn(text=text, gold=None, kind=kind) for text, kind in uncovered]
