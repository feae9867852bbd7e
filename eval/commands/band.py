"""`skill-router tune-band`: where a cascade's local judge counts as unsure."""

from __future__ import annotations

import click

from router.cli import print_json
from router.commands.options import load_router


@click.command("tune-band")
@click.option(
    "--data",
    "folders",
    multiple=True,
    metavar="DIR",
    help="Rosters with labelled turns, as `train heads` takes them; repeat.",
)
@click.option("--bundled/--no-bundled", default=True, show_default=True, help="The bundled roster.")
@click.option(
    "--out-of-fold",
    metavar="FILE",
    help="JSON: group to folder of an encoder that was trained without that group.",
)
@click.option(
    "--most-escalated",
    type=click.FloatRange(0.0, 1.0),
    default=0.18,
    show_default=True,
    metavar="SHARE",
    help="Most turns inside the band, the mean over rosters.",
)
@click.option("--thresholds", metavar="FILE", help="A TOML file.  [default: those shipped]")
@click.option("--encoder", metavar="NAME", help="The encoder of the local judge.")
@click.option("--heads", metavar="FILE", help="Heads learned for that encoder.")
@click.option("--cache", metavar="DIR", help="Folder of the index cache.")
@click.option("--out", default="band.json", show_default=True, metavar="FILE")
def tune_band(
    folders: tuple[str, ...],
    bundled: bool,
    out_of_fold: str | None,
    most_escalated: float,
    thresholds: str | None,
    encoder: str | None,
    heads: str | None,
    cache: str | None,
    out: str,
) -> None:
    """Choose the two thresholds between which a cascade asks its second judge.

    Use rosters that the local judge was not trained on, or --out-of-fold encoders: on its own
    training turns it makes fewer mistakes, and is surer, than it will be in use.
    """
    from eval.bench import run_bench
    from eval.cascade.choose import choose_band, scored
    from eval.cascade.unseen import read_out_of_fold, with_encoder
    from eval.data import requests_digest
    from eval.files import write_whole
    from eval.train.sources import find_sources
    from router.cascade import Band

    answers, learned_on = {}, []
    weights = ""
    folder_of = {} if out_of_fold is None else read_out_of_fold(out_of_fold)
    for source in find_sources(folders, bundled=bundled):
        router = load_router(source.roster, thresholds, encoder, heads, cache)
        if source.group in folder_of:
            router = with_encoder(router, folder_of[source.group])
        weights = router.weights_digest
        answers[source.group] = run_bench(router, source.turns)
        learned_on.append(
            {
                "group": source.group,
                "roster": source.roster.digest[:16],
                "requests": requests_digest(source.turns)[:16],
            }
        )
        click.echo(f"{source.group}: {len(source.turns)} turns", err=True)
    if not answers:
        raise click.UsageError("give --data, or leave the bundled roster in")
    chosen = choose_band(scored(answers), most_escalated)
    scores = {
        "share_escalated": round(chosen.share, 4),
        "mistakes_inside": round(chosen.removed, 4),
        "most_escalated": most_escalated,
    }
    band = Band(
        low=chosen.band.low,
        high=chosen.band.high,
        learned_on={"weights": weights[:16], "scores": scores, "rosters": learned_on},
    )
    write_whole(out, band.model_dump_json(indent=2) + "\n")
    print_json({"low": band.low, "high": band.high, **scores})
