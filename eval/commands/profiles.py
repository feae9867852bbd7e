"""`skill-router profiles`: thresholds, weights and template as versions of their own."""

from __future__ import annotations

from pathlib import Path

import click

from eval.commands.store_options import (
    add_shelf_commands,
    db_option,
    json_option,
    open_store,
    print_evaluation,
)


def _shelf_commands(group: click.Group) -> None:
    from router.profile import Profile

    add_shelf_commands(group, lambda store: store.shelf(Profile))


@click.group()
def profiles() -> None:
    """Stage, evaluate and activate profiles: thresholds, weights and template together."""


_shelf_commands(profiles)


@profiles.command()
@click.argument("name")
@click.argument("version")
@db_option
@click.option("--roster", metavar="PATH", help="The roster it is for.  [default: bundled]")
@click.option("--requests", "requests_path", required=True, metavar="PATH",
              help="The labelled requests it is evaluated on.")  # fmt: skip
@click.option("--thresholds", metavar="FILE", help="A TOML file.  [default: those of the heads]")
@click.option("--heads", metavar="FILE", help="Learned numbers.  [default: those shipped]")
@click.option("--template", "templates", nargs=2, metavar="SUGGESTED SILENT",
              help="Files with the two forms of the block.")  # fmt: skip
def stage(
    name: str,
    version: str,
    db: str | None,
    roster: str | None,
    requests_path: str,
    thresholds: str | None,
    heads: str | None,
    templates: tuple[str, str] | None,
) -> None:
    """Keep a profile, inactive."""
    from eval.data import load_turns, requests_digest
    from roster.cli import load
    from router.block import BlockTemplate
    from router.local.encoder import load_encoder
    from router.local.heads import shipped_heads
    from router.profile import Profile, make_profile
    from router.thresholds import Thresholds

    skills = load(roster)
    turns = load_turns(requests_path, skills.names)
    place = Path(heads).expanduser() if heads else shipped_heads(load_encoder().digest)
    try:
        data = place.read_bytes()
    except OSError as error:
        raise click.ClickException(f"{place}: cannot be read ({error.strerror})") from None
    staging = make_profile(
        name,
        version,
        roster=skills,
        requests_digest=requests_digest(turns),
        heads=data,
        thresholds=Thresholds.from_toml(thresholds) if thresholds else None,
        template=BlockTemplate.from_files(*templates) if templates else None,
    )
    with open_store(db, create=True) as store:
        new = store.shelf(Profile).stage(staging)
    state = "staged" if new else "is staged already, unchanged"
    click.echo(f"{name} {version} {state}\n  content {staging.record.digest}")


@profiles.command()
@click.argument("name")
@click.argument("version")
@db_option
@click.option("--roster", metavar="PATH", help="The roster it is for.  [default: bundled]")
@click.option("--requests", "requests_path", required=True, metavar="PATH",
              help="The labelled requests it was staged for.")  # fmt: skip
@click.option("--cache", metavar="DIR", help="Folder of the index cache.")
@json_option
def activate(
    name: str,
    version: str,
    db: str | None,
    roster: str | None,
    requests_path: str,
    cache: str | None,
    as_json: bool,
) -> None:
    """Evaluate a profile against the one in use, and switch if it is not worse."""
    from eval.asking import local_ask, profile_ask
    from eval.data import load_turns
    from eval.profile_evaluator import ProfileEvaluator
    from roster.cli import load
    from router.profile import Profile

    skills = load(roster)
    turns = load_turns(requests_path, skills.names)
    with open_store(db) as store:
        shelf = store.shelf(Profile)
        candidate = shelf.get(name, version)
        snapshot = store.snapshot()
        in_use = [
            Profile.model_validate_json(row.content)
            for row in snapshot.of(Profile.kind)
            if row.name == name
        ]
        usable = [profile for profile in in_use if profile.roster_digest == skills.digest]
        current = profile_ask(store, usable[0], cache) if usable else local_ask(cache=cache)[0]
        evaluator = ProfileEvaluator(turns, skills, profile_ask(store, candidate, cache), current)
        evaluation = shelf.activate(
            name,
            version,
            evaluate=evaluator,
            required=evaluator.required,
            expected=snapshot.digest,
        )
    print_evaluation(name, version, evaluation, as_json)
