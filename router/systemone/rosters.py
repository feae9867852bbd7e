"""Judges for rosters that arrive inside requests."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from roster import Roster, Skill
from roster.prompt import index_description
from roster.text import one_line
from router.judge import Judge
from router.local.encoder import Encoder
from router.local.heads import Heads
from router.local.index import SkillIndex, assemble, build_index
from router.local.judge import LocalJudge
from router.local.pair_reread import pair_reread
from router.local.pair_scorer import PairScorer
from router.local.vectors import SkillVectors, encode_skills

_COMPARED = 40


class Judged(NamedTuple):
    """A roster, and a judge that holds its index."""

    roster: Roster
    judge: Judge


class RosterJudges:
    """Local judges by what a request's criteria say; the newest few are kept in memory.

    A program sends its whole roster with every request. It is indexed once, in memory only:
    strangers' requests never fill the disk.

    Args:
        encoder: Encodes skills that are new.
        heads: The learned numbers.
        own: A roster that is always there, with its judge.
        most: Rosters that are kept.
        reranker: See `router.local.pair_reread.pair_reread`.
    """

    def __init__(
        self,
        encoder: Encoder,
        heads: Heads,
        own: Judged | None = None,
        most: int = 8,
        reranker: str | PairScorer | None = None,
    ) -> None:
        self._encoder = encoder
        self._heads = heads
        self._reread = pair_reread(heads, reranker)
        self._most = most
        self.own = own
        self._kept: OrderedDict[str, tuple[Judged, SkillIndex]] = OrderedDict()
        self._lock = threading.Lock()

    def for_wide(self, criteria: Mapping[str, str]) -> Judged:
        """The judge for a whole roster, name to description."""
        if self.own is not None and _describes(criteria, self.own.roster):
            return self.own
        roster = Roster.from_skills(
            Skill(name=name, description=text) for name, text in criteria.items()
        )
        with self._lock:
            kept = self._kept.get(roster.digest)
            if kept is None:
                index = build_index(roster, self._encoder)
                kept = self._keep(roster, index)
            self._kept.move_to_end(roster.digest)
            return kept[0]

    def for_reread(self, candidates: Mapping[str, tuple[str, str]]) -> Judged:
        """The judge for some candidates, name to description and opening of the body.

        They are read in full, among the skills of the newest roster that has all their names.
        """
        if self.own is not None and _describes(
            {name: text for name, (text, _) in candidates.items()}, self.own.roster
        ):
            return self.own
        full = {
            name: Skill(name=name, description=text, body=body)
            for name, (text, body) in candidates.items()
        }
        with self._lock:
            around = next(
                (
                    entry
                    for entry in reversed(self._kept.values())
                    if all(name in entry[0].roster for name in full)
                ),
                None,
            )
        if around is None:
            roster = Roster.from_skills(full.values())
            return self._judged(roster, build_index(roster, self._encoder))
        judged, index = around
        vectors: dict[str, SkillVectors] = dict(
            zip(full, encode_skills(self._encoder, list(full.values()), None), strict=True)
        )
        skills = [full.get(skill.name, skill) for skill in judged.roster]
        rows = [vectors.get(skill.name) or index.vectors(row) for row, skill in enumerate(skills)]
        roster = Roster.from_skills(skills)
        return self._judged(roster, assemble(skills, rows, self._encoder))

    def _judged(self, roster: Roster, index: SkillIndex) -> Judged:
        judge = LocalJudge(roster, index, self._encoder, self._heads, reread=self._reread)
        return Judged(roster, judge)

    def _keep(self, roster: Roster, index: SkillIndex) -> tuple[Judged, SkillIndex]:
        kept = self._kept[roster.digest] = (self._judged(roster, index), index)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return kept


def _describes(criteria: Mapping[str, str], roster: Roster) -> bool:
    """Whether each label is a skill of the roster and its text begins as that skill's does."""
    for name, text in criteria.items():
        skill = roster.get(name)
        if skill is None:
            return False
        start = one_line(text).rstrip(". ")[:_COMPARED]
        known = (index_description(skill, 2000), one_line(skill.description))
        if not any(one.startswith(start) for one in known):
            return False
    return True
