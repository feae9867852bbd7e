"""`skill-router poison`: what hostile skills steal, without and with the defences."""

from __future__ import annotations

import click

from router.cli import print_json
from router.commands.options import load_roster


@click.command()
@click.option(
    "--roster",
    "roster_path",
    metavar="PATH",
    help="A folder searched for SKILL.md, or a .json or .jsonl file.  [default: bundled]",
)
@click.option(
    "--requests",
    "requests_path",
    metavar="PATH",
    help="Labelled turns for that roster.  [default: those of the bundled one]",
)
@click.option("--quarantine", metavar="WHAT", help="The defences measured.  [default: 0.8]")
@click.option("--cache", metavar="DIR", help="Folder of the index cache.")
@click.option("--reranker", metavar="NAME", help='Another pair scorer; "none" for none.')
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this attack; repeat it.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Most covered, and most uncovered, requests that each planted skill is tried on.",
)
@click.option(
    "--targets",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Skills to stand in for.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "as_json_", is_flag=True, help="Print one JSON object.")
def poison(
    roster_path: str | None,
    requests_path: str | None,
    quarantine: str | None,
    cache: str | None,
    reranker: str | None,
    kinds: tuple[str, ...],
    sample: int,
    targets: int,
    seed: int,
    as_json_: bool,
) -> None:
    """Plant hostile skills one at a time and count the requests each of them steals.

    "Of the target's": requests for the skill that the planted one poses as. The arrow leads from
    the router without defences to the router with them.
    """
    from eval.commands.bench import _with_bar
    from eval.data import load_turns
    from eval.paths import requests_folder
    from eval.poison.attacks import KINDS, make_attacks
    from eval.poison.measure import Remembering, draw, measure
    from eval.poison.report import as_json, print_rows, rows
    from roster import Roster
    from roster.suspicion import Quarantine
    from router.local.encoder import load_encoder
    from router.pipeline import Router

    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise click.UsageError(f"there is no attack {unknown[0]!r}; they are {', '.join(KINDS)}")
    if roster_path is not None and requests_path is None:
        raise click.UsageError("--roster needs --requests: the labelled turns for that roster")
    roster = load_roster(roster_path)
    turns = load_turns(requests_path or requests_folder() / "bundled.jsonl", roster.names)
    drawn = draw(turns, sample, targets, seed)
    if not drawn.targets:
        raise click.UsageError("no request of the file is covered by a skill; there is no target")
    encoder = Remembering(load_encoder())

    def load(planted: Roster, rules: Quarantine) -> Router:
        return Router.load(
            planted, encoder=encoder, reranker=reranker, cache=cache, quarantine=rules
        )

    attacks = make_attacks(roster, [roster[name] for name in drawn.targets], kinds or None, seed)
    rules = Quarantine.of(quarantine)
    outcomes = _with_bar(
        "planting skills", lambda tell: measure(roster, drawn, attacks, load, rules, tell)
    )
    if as_json_:
        print_json(as_json(str(roster_path or "bundled"), outcomes))
    else:
        print_rows(
            f"{len(roster)} skills, {len(drawn.covered)} covered and {len(drawn.uncovered)} "
            f"uncovered requests, {len(drawn.targets)} targets",
            rows(outcomes),
        )
