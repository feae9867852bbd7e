"""A judge that goes by keywords: decisions a test can read off its text."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from roster import Roster, Skill
from router import Gate, Ranking, Reread, Router, Turn


class KeywordJudge:
    """Suggests the skill whose keyword a request holds; silent on anything else."""

    def __init__(self, keywords: Mapping[str, str], delay_s: float = 0.0) -> None:
        self.keywords, self.delay_s = keywords, delay_s
        self.turns: list[Turn] = []
        self._lock = threading.Lock()

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        with self._lock:
            self.turns.append(turn)
        time.sleep(self.delay_s)
        found = self._found(turn)
        need = 0.9 if found else 0.1
        names = sorted(roster.names, key=lambda name: name != found)
        rest = 0.1 / max(len(names) - 1, 1)
        entries = tuple((name, 0.9 if name == found else rest) for name in names)
        gate = Gate(acts_on_system=need, documented_procedure=need, prose_suffices=1 - need)
        return Ranking(entries=entries), gate

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        found = self._found(turn)
        fits = {skill.name: 0.9 if skill.name == found else 0.1 for skill in candidates}
        return Reread(
            choice={name: fit / sum(fits.values()) for name, fit in fits.items()}, fits=fits
        )

    def _found(self, turn: Turn) -> str | None:
        words = turn.request_text.lower()
        return next((name for word, name in self.keywords.items() if word in words), None)


def keyword_router(roster: Roster, keywords: Mapping[str, str], delay_s: float = 0.0) -> Router:
    """A router with such a judge; its turns are in ``router.judge.turns``."""
    return Router(roster, KeywordJudge(keywords, delay_s))
