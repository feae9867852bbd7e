"""A description is a classifier: its two error rates before and after an edit."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from eval.data import LabelledTurn
from eval.metrics import Rate, rate
from eval.paired import McNemar, mcnemar
from eval.sensitivity.picks import LoadRouter, Picker
from eval.sensitivity.variants import SensitivityError, Variant, set_up
from roster import Roster
from router.block import BlockTemplate
from router.pipeline import Router
from router.turn import Turn


class Effect(StrEnum):
    """What an edit did to one request."""

    FIXED = "fixed"
    BROKEN = "broken"
    CHANGED = "changed"


class Moved(BaseModel):
    """A request that is picked for differently after the edit.

    Attributes:
        text: The request.
        gold: Its skill, or None.
        before: Pick before, or None.
        after: Pick after, or None.
        effect: Whether that is right now, was right before, or neither.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    gold: str | None
    before: str | None
    after: str | None
    effect: Effect


class EditReport(BaseModel):
    """Everything `skill-router sensitivity description` reports.

    Attributes:
        skill: The skill whose description is edited.
        neighbours: The skills it is mistaken for most easily.
        characters_before: Length of the description.
        characters_after: Length of the edit.
        needing: Requests that need the skill.
        others: Requests of a neighbour, or close to it or the skill, that do not need it.
        miss_before: Of those needing it, the share it was not picked for.
        miss_after: The same after the edit.
        false_before: Of the others, the share it was picked for.
        false_after: The same after the edit.
        paired: After (first) against before (second): requests decided correctly.
        moved: Requests that moved, the broken ones first.
        checked: Requests that were asked, those without any tie to the skill included.
    """

    model_config = ConfigDict(frozen=True)

    skill: str
    neighbours: tuple[str, ...]
    characters_before: int
    characters_after: int
    needing: int
    others: int
    miss_before: Rate
    miss_after: Rate
    false_before: Rate
    false_after: Rate
    paired: McNemar
    moved: tuple[Moved, ...]
    checked: int


def neighbours(router: Router, skill: str, count: int = 5) -> tuple[str, ...]:
    """The skills the router ranks highest when it is asked for the skill's own description.

    Args:
        router: A router whose roster has the skill.
        skill: Its name.
        count: Most neighbours.
    """
    ranking, _ = router.judge.rank(Turn(request=router.roster[skill].description), router.eligible)
    return tuple(name for name in ranking.top(count + 1) if name != skill)[:count]


def concerned(turns: Sequence[LabelledTurn], skill: str, near: Sequence[str]) -> list[LabelledTurn]:
    """The turns whose label names the skill or a neighbour, as the right one or as a near miss."""
    names = {skill, *near}
    return [turn for turn in turns if turn.gold in names or turn.near in names]


def edit(
    roster: Roster,
    skill: str,
    description: str,
    turns: Sequence[LabelledTurn],
    pick: Picker,
    load: LoadRouter,
    *,
    near: Sequence[str] | None = None,
    everything: bool = False,
) -> EditReport:
    """Measure an edit of one description.

    Args:
        roster: The roster before the edit.
        skill: Name of the skill.
        description: Its new description.
        turns: Labelled turns.
        pick: Picks for each turn.
        load: Loads the router that finds the neighbours.
        near: Neighbours of your own choosing.
        everything: Also ask about turns without a tie to the skill: an edit can move those too.

    Raises:
        SensitivityError: If the skill or a neighbour is unknown, the description is blank or the
            same, or no turn needs the skill.
    """
    unknown = [name for name in (skill, *(near or ())) if name not in roster]
    if unknown:
        raise SensitivityError(f"the roster has no skill {unknown[0][:80]!r}; mend the name")
    if not description.strip():
        raise SensitivityError("the new description is blank; give a text")
    if description == roster[skill].description:
        raise SensitivityError(f"the new description of {skill!r} is the one it has; edit it")
    if near is None:
        near = neighbours(load(roster), skill)
    tied = concerned(turns, skill, near)
    needing = sum(turn.gold == skill for turn in tied)
    if not needing:
        raise SensitivityError(
            f"no request has {skill!r} as gold; label some, or its miss rate cannot be told"
        )
    asked = list(turns) if everything else tied
    before_setup = set_up(Variant(name="before", block=BlockTemplate()), roster)
    after_setup = set_up(Variant(name="after", descriptions={skill: description}), roster)
    before, after = pick(before_setup, asked), pick(after_setup, asked)
    near_set = {skill, *near}
    rows = [i for i, t in enumerate(asked) if t.gold in near_set or t.near in near_set]
    return EditReport(
        skill=skill,
        neighbours=tuple(near),
        characters_before=len(roster[skill].description),
        characters_after=len(description),
        needing=needing,
        others=len(tied) - needing,
        miss_before=_misses(asked, before, skill, rows),
        miss_after=_misses(asked, after, skill, rows),
        false_before=_false(asked, before, skill, rows),
        false_after=_false(asked, after, skill, rows),
        paired=mcnemar(
            [a == t.gold for t, a in zip(asked, after, strict=True)],
            [b == t.gold for t, b in zip(asked, before, strict=True)],
        ),
        moved=_moved(asked, before, after),
        checked=len(asked),
    )


def _misses(
    turns: Sequence[LabelledTurn], picks: Sequence[str | None], skill: str, rows: Sequence[int]
) -> Rate:
    need = [row for row in rows if turns[row].gold == skill]
    return rate(sum(picks[row] != skill for row in need), len(need))


def _false(
    turns: Sequence[LabelledTurn], picks: Sequence[str | None], skill: str, rows: Sequence[int]
) -> Rate:
    others = [row for row in rows if turns[row].gold != skill]
    return rate(sum(picks[row] == skill for row in others), len(others))


_ORDER = {Effect.BROKEN: 0, Effect.FIXED: 1, Effect.CHANGED: 2}


def _moved(
    turns: Sequence[LabelledTurn], before: Sequence[str | None], after: Sequence[str | None]
) -> tuple[Moved, ...]:
    found = []
    for turn, old, new in zip(turns, before, after, strict=True):
        if old == new:
            continue
        effect = Effect.CHANGED
        if new == turn.gold:
            effect = Effect.FIXED
        elif old == turn.gold:
            effect = Effect.BROKEN
        found.append(Moved(text=turn.text, gold=turn.gold, before=old, after=new, effect=effect))
    return tuple(sorted(found, key=lambda moved: _ORDER[moved.effect]))
