"""`skill-router tune-band`: where a cascade's local judge counts as unsure."""

from __future__ import annotations

import click

from eval.commands.outputs import check_outputs
from eval.commands.train_folds import by_group
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
@click.option(
    "--archive", metavar="DIR", help="Unpacked skill folders that requests/community lists."
)
@click.option("--bundled/--no-bundled", default=True, show_default=True, help="The bundled roster.")
@click.option(
    "--groups", multiple=True, metavar="PATTERN", help="Only the groups of that name; repeat."
)
@click.option(
    "--out-of-fold",
    metavar="FILE",
    help="JSON: group to folder of an encoder that was trained without that group.",
)
@click.option(
    "--reranker-out-of-fold",
    metavar="FILE",
    help="The same for the pair scorer.",
)
@click.option(
    "--heads-out-of-fold",
    metavar="FILE",
    help="The same for the heads: what `train heads --folds-out` writes.",
)
@click.option(
    "--most-escalated",
    type=click.FloatRange(0.0, 1.0),
    default=0.11,
    show_default=True,
    metavar="SHARE",
    help="Most turns that are uncertain, the mean over rosters; on rosters whose skills the "
    "encoder has never read it will be about twice as many.",
)
@click.option(
    "--covered-weight",
    type=click.FloatRange(0.0, min_open=True),
    default=2.0,
    show_default=True,
    metavar="X",
    help="How much a mistake on a covered turn counts beside another.",
)
@click.option("--thresholds", metavar="FILE", help="A TOML file.  [default: those shipped]")
@click.option("--encoder", metavar="NAME", help="The encoder of the local judge.")
@click.option("--heads", metavar="FILE", help="Heads learned for that encoder.")
@click.option("--reranker", metavar="NAME", help='The pair scorer; "none" for none.')
@click.option("--cache", metavar="DIR", help="Folder of the index cache.")
@click.option("--out", default="band.json", show_default=True, metavar="FILE")
def tune_band(
    folders: tuple[str, ...],
    archive: str | None,
    bundled: bool,
    groups: tuple[str, ...],
    out_of_fold: str | None,
    reranker_out_of_fold: str | None,
    heads_out_of_fold: str | None,
    most_escalated: float,
    covered_weight: float,
    thresholds: str | None,
    encoder: str | None,
    heads: str | None,
    reranker: str | None,
    cache: str | None,
    out: str,
) -> None:
    """Learn how likely a local decision is a mistake, and from when a second judge is asked.

    Use rosters that the local judge was not trained on, or out-of-fold models: on its own training
    turns it makes fewer mistakes, and is surer, than it will be in use. The printed scores are of
    rosters that were held out, five folds over rosters.
    """
    from eval.bench import Answer, run_bench
    from eval.cascade.choose import examples
    from eval.cascade.learn import learn_band
    from eval.cascade.unseen import unseen
    from eval.data import requests_digest
    from eval.files import write_whole
    from eval.train.sources import find_sources, pick_groups
    from router.local.encoder import load_encoder
    from router.local.heads import Heads, heads_for
    from router.local.pair_scorer import load_pair_scorer

    check_outputs(out)
    encoders = by_group(out_of_fold, load_encoder)
    scorers = by_group(reranker_out_of_fold, load_pair_scorer)
    learned = by_group(heads_out_of_fold, Heads.from_file)
    sources = (
        find_sources(folders, archive, bundled=bundled) if folders or archive or bundled else []
    )
    if groups:
        sources = pick_groups(sources, groups)
    if not sources:
        raise click.UsageError("give --data, or leave the bundled roster in")
    answers: dict[str, list[Answer]] = {}
    learned_on = []
    loaded = load_encoder(encoder)
    own = heads_for(loaded.name, loaded.digest, heads)
    for source in sources:
        group = source.group
        if group in encoders or group in scorers or group in learned:
            router = unseen(
                source.roster,
                learned.get(group, own),
                encoders.get(group, loaded),
                scorers.get(group),
                reranker=reranker,
                thresholds=thresholds,
                cache=cache,
            )
        else:
            router = load_router(source.roster, thresholds, encoder, heads, cache, reranker)
        answers[source.group] = [
            answer.model_copy(
                update={"suggestion": router.read_anyway(answer.turn.turn(), answer.suggestion)}
            )
            for answer in run_bench(router, source.turns)
        ]
        learned_on.append(
            {
                "group": source.group,
                "roster": source.roster.digest[:16],
                "requests": requests_digest(source.turns)[:16],
            }
        )
        click.echo(f"{source.group}: {len(source.turns)} turns", err=True)
    data = examples(answers)
    band, chosen = learn_band(data, most_escalated, covered_weight)
    scores = {
        "share_escalated": round(chosen.share, 4),
        "mistakes_caught": round(chosen.removed, 4),
        "mistakes": round(float(data.wrong.mean()), 4),
        "most_escalated": most_escalated,
        "covered_weight": covered_weight,
    }
    band = band.model_copy(
        update={"learned_on": {"weights": own.digest[:16], "scores": scores, "rosters": learned_on}}
    )
    write_whole(out, band.model_dump_json(indent=2) + "\n")
    print_json({"speaks": band.speaks, "silent": band.silent, **scores, "digest": band.digest})
