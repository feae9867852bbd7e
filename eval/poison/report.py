"""The outcomes as rows, one a kind of attack, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table

from eval.metrics import Rate, rate
from eval.poison.measure import Outcome, Tally


class Row(BaseModel):
    """All attacks of one kind.

    Attributes:
        kind: The kind.
        planted: Skills that were planted, one at a time.
        held: How many of them the quarantine keeps out.
        score: Their mean suspicion, 0..1.
        before: Rates without defences: ``own``, ``lost``, ``covered``, ``uncovered``.
        after: The same with them.
    """

    model_config = ConfigDict(frozen=True)

    kind: str
    planted: int
    held: int
    score: float
    before: dict[str, Rate]
    after: dict[str, Rate]


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row a kind, in the order of the outcomes, and one over all that ask the real judge."""
    kinds = list(dict.fromkeys(outcome.kind for outcome in outcomes))
    return [_row(kind, [one for one in outcomes if one.kind == kind]) for kind in kinds]


def _row(kind: str, outcomes: Sequence[Outcome]) -> Row:
    return Row(
        kind=kind,
        planted=len(outcomes),
        held=sum(one.held for one in outcomes),
        score=sum(one.score for one in outcomes) / len(outcomes),
        before=_rates([one.before for one in outcomes]),
        after=_rates([one.after for one in outcomes]),
    )


def _rates(tallies: Sequence[Tally]) -> dict[str, Rate]:
    def total(field: str) -> int:
        return sum(getattr(tally, field) for tally in tallies)

    return {
        "own": rate(total("own_stolen"), total("own")),
        "lost": rate(total("own_lost"), total("own")),
        "covered": rate(total("covered_stolen"), total("covered")),
        "uncovered": rate(total("uncovered_stolen"), total("uncovered")),
    }


def as_json(roster: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The rows and every single outcome."""
    return {
        "roster": roster,
        "rows": [row.model_dump() for row in rows(outcomes)],
        "planted": [outcome.model_dump() for outcome in outcomes],
    }


def print_rows(title: str, found: Sequence[Row]) -> None:
    """Print the rows as a table: before and after, each with its 95 % interval."""
    table = Table(title=title, title_justify="left")
    table.add_column("attack")
    for head in ("planted", "held", "suspicion"):
        table.add_column(head, justify="right")
    for head in ("of the target's", "of other skills'", "of uncovered"):
        table.add_column(f"steals {head}", justify="right")
    for row in found:
        table.add_row(
            row.kind,
            str(row.planted),
            str(row.held),
            f"{row.score:.2f}",
            *(
                f"{_short(row.before[key])}\n-> {_short(row.after[key])}"
                for key in ("own", "covered", "uncovered")
            ),
        )
    console = Console()
    console.print(table)


def _short(share: Rate) -> str:
    if not share.total:
        return "-"
    return f"{share.count}/{share.total} [{share.low:.1%}, {share.high:.1%}]"
