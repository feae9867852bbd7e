"""`skill-router train`: one command a stage."""

from __future__ import annotations

import json
from pathlib import Path

import click

from eval.commands.train_encoder import average, encoder, export, pairs


@click.group()
def train() -> None:
    """Train what the local judge has learned, one stage at a time."""


train.add_command(pairs)
train.add_command(encoder)
train.add_command(average)
train.add_command(export)


@train.command("heads")
@click.option(
    "--data", "folders", multiple=True, metavar="DIR", help="Rosters with labelled turns; repeat."
)
@click.option(
    "--archive", metavar="DIR", help="Unpacked skill folders that requests/community lists."
)
@click.option(
    "--encoder", metavar="NAME", help="The encoder the heads are for.  [default: shipped]"
)
@click.option(
    "--out-of-fold",
    metavar="FILE",
    help="JSON: group to folder of an encoder that was trained without that group.",
)
@click.option("--needless", default=0.13, show_default=True, help="Bound on needless suggestions.")
@click.option("--shortlist", default=3, show_default=True, help="Default size of the shortlist.")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", required=True, metavar="FILE", help="Where the heads are written.")
def heads(
    folders: tuple[str, ...],
    archive: str | None,
    encoder: str | None,
    out_of_fold: str | None,
    needless: float,
    shortlist: int,
    seed: int,
    out: str,
) -> None:
    """Learn fusion, gate, fits and default thresholds, and cross-validate them over rosters."""
    from eval.train.card import write_card
    from eval.train.heads import train_heads, write_heads
    from eval.train.sources import find_sources
    from router.local.encoder import Encoder, load_encoder

    path = Path(out).expanduser()
    if not path.parent.is_dir():
        raise click.ClickException(f"{path.parent}: no such folder; make it first")
    others: dict[str, Encoder] = {}
    if out_of_fold is not None:
        loaded: dict[str, Encoder] = {}
        try:
            folders_of = dict(json.loads(Path(out_of_fold).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise click.ClickException(
                f"{out_of_fold}: cannot be read as a JSON object of group to folder ({error})"
            ) from error
        for group, folder in folders_of.items():
            loaded.setdefault(folder, load_encoder(folder))
            others[group] = loaded[folder]
    trained = train_heads(
        find_sources(folders, archive),
        load_encoder(encoder),
        out_of_fold=others,
        needless_at_most=needless,
        shortlist=shortlist,
        seed=seed,
        report=lambda line: click.echo(line, err=True),
    )
    write_heads(trained, path)
    write_card(trained, path)
    click.echo(json.dumps({"thresholds": trained.heads.thresholds, **trained.scores}, indent=2))
