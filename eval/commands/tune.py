"""`skill-router tune`: thresholds from labelled requests, and whether to trust them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eval.commands.numbers import number, number_list, share_option
from eval.commands.outputs import check_extra, check_outputs
from router.cli import print_json
from router.commands.options import (
    JudgeChoice,
    judge_options,
    load_roster,
    load_router,
    router_options,
)

if TYPE_CHECKING:
    from eval.data import LabelledTurn
    from eval.tune import Objective, StageOutputs
    from router.pipeline import Router

_COST = number(0.0, 1e6)


@click.command()
@router_options
@judge_options
@click.option(
    "--requests",
    "requests_path",
    metavar="PATH",
    help="Labelled turns: a JSON array or JSON Lines of {text, gold}.  "
    "[default: those of the bundled roster]",
)
@click.option(
    "--needless-at-most",
    type=share_option,
    metavar="SHARE",
    help="Most right suggestions with at most this share of needless ones, instead of least cost.",
)
@click.option(
    "--cost-wrong", type=_COST, metavar="COST", help="Cost of a wrong suggestion.  [default: 0.65]"
)
@click.option(
    "--cost-silent",
    type=_COST,
    metavar="COST",
    help="Cost of silence when a skill fits.  [default: 0.28]",
)
@click.option(
    "--cost-needless", type=_COST, metavar="COST", help="Cost of a needless one.  [default: 0.186]"
)
@click.option(
    "--covered-share",
    type=share_option,
    metavar="SHARE",
    help="Share of your traffic that a skill fits.  [default: that of the requests]",
)
@click.option(
    "--shortlist",
    "shortlists",
    type=number_list(1, 50),
    metavar="N,N",
    default="1,2,3,4,5,8,10",
    show_default=True,
    help="Sizes of the shortlist to try.",
)
@click.option(
    "--excerpt",
    "excerpts",
    type=number_list(0, 20_000),
    metavar="N,N",
    default="0,350,700,1400",
    show_default=True,
    help="Excerpts to try, in characters; only the current one if the judge does not read it.",
)
@click.option(
    "--step", type=number(0.001, 0.5), metavar="STEP", default=0.01, show_default=True,
    help="Distance of neighbouring thresholds.",
)  # fmt: skip
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--stages", "stages_path", metavar="FILE", help="Keep the stage outputs here and reuse them."
)
@click.option(
    "--out", default="thresholds.toml", show_default=True, metavar="FILE",
    help="Where the chosen thresholds are written, if their gain survives.",
)  # fmt: skip
@click.option(
    "--force", is_flag=True, help="Write them even if the verdict says to keep the current ones."
)
@click.option("--plot", metavar="FILE", help="Draw the Pareto front: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def tune(
    roster_path: str | None,
    duplicates: str,
    thresholds: str | None,
    encoder: str | None,
    heads: str | None,
    reranker: str | None,
    cache: str | None,
    requests_path: str | None,
    needless_at_most: float | None,
    cost_wrong: float | None,
    cost_silent: float | None,
    cost_needless: float | None,
    covered_share: float | None,
    shortlists: tuple[int, ...],
    excerpts: tuple[int, ...],
    step: float,
    folds: int,
    seed: int,
    stages_path: str | None,
    out: str,
    force: bool,
    plot: str | None,
    as_json: bool,
    judge: JudgeChoice,
) -> None:
    """Choose thresholds on labelled requests, and test the choice on requests it was not made on.

    The costs default to what each outcome was recorded to do to an agent: wrong loads after a
    wrong suggestion, or after silence, beyond those after a right one; loads after a needless one.
    The file is written only if the gain survives on the requests it was not chosen on, or with
    --force.
    """
    from eval.commands.tune_text import print_result
    from eval.data import load_turns
    from eval.files import write_whole
    from eval.paths import requests_folder
    from eval.tune import Outcome, disagreements, thresholds_file
    from eval.tune import tune as run
    from eval.tune.choose import grouped_folds, require_both_labels

    if roster_path is not None and requests_path is None:
        raise click.UsageError("--roster needs --requests: the labelled turns for that roster")
    if judge.name == "cascade":
        raise click.UsageError("tune the first judge of a cascade by itself: --judge local")
    objective = _objective(needless_at_most, cost_wrong, cost_silent, cost_needless, covered_share)
    check_outputs(out, plot, stages_path)
    _check_plot(plot)
    roster = load_roster(roster_path, duplicates)
    path = requests_path or str(requests_folder() / "bundled.jsonl")
    turns = load_turns(path, roster.names)
    require_both_labels(turns, path)
    grouped_folds(turns, folds, seed)  # said before the router is asked about every turn
    router = load_router(roster, thresholds, encoder, heads, cache, reranker, judge)
    deepest = max(*shortlists, router.thresholds.shortlist)
    wanted = [router.thresholds.excerpt, *excerpts]
    outputs = _stage_outputs(router, turns, deepest, wanted, stages_path)
    result = run(
        outputs, router.thresholds, objective, shortlists=shortlists, step=step, folds=folds,
        seed=seed,
    )  # fmt: skip
    if judge.name == "local":  # any other judge would be paid a second time
        replayed = disagreements(outputs, router, result.chosen)
        result = result.model_copy(update={"replayed_otherwise": replayed})
    write = force or result.verdict.outcome is Outcome.SURVIVES
    if write:
        write_whole(out, thresholds_file(result))
    if plot is not None:
        from eval.tune.plot import plot_front

        plot_front(result, plot)
    if as_json:
        print_json({**result.model_dump(mode="json"), "written": out if write else None})
    else:
        print_result(result, out, plot, write)


def _objective(
    bound: float | None,
    wrong: float | None,
    silent: float | None,
    needless: float | None,
    covered_share: float | None,
) -> Objective:
    from eval.tune import NeedlessAtMost, WeightedCost

    given = {"wrong": wrong, "silent": silent, "needless": needless}
    given = {name: cost for name, cost in given.items() if cost is not None}
    if bound is not None:
        if given or covered_share is not None:
            raise click.UsageError(
                "--needless-at-most is an objective of its own: leave out the costs and the share"
            )
        return NeedlessAtMost(bound=bound)
    return WeightedCost.from_effects(covered_share=covered_share).model_copy(update=given)


def _check_plot(plot: str | None) -> None:
    from eval.tune.plot import FORMATS

    if plot is None:
        return
    if Path(plot).suffix.lower() not in FORMATS:
        raise click.UsageError(f"--plot {plot}: end the name in {', '.join(FORMATS)}")
    check_extra("--plot", "report", "matplotlib")


def _stage_outputs(
    router: Router,
    turns: Sequence[LabelledTurn],
    shortlist: int,
    excerpts: Sequence[int],
    path: str | None,
) -> StageOutputs:
    from rich.console import Console
    from rich.progress import Progress

    from eval.tune import TuneError, collect, read_outputs, write_outputs

    if path is not None and Path(path).expanduser().exists():
        outputs = read_outputs(path, turns)
        if (outputs.roster_digest, outputs.weights_digest) != (
            router.roster.digest,
            router.weights_digest,
        ):
            raise TuneError(
                f"{path}: holds the stage outputs of another roster or other weights; remove it, "
                "and they are collected again"
            )
        lacking = set(excerpts) - set(outputs.excerpts) if outputs.excerpt_matters else set()
        if outputs.deepest < min(shortlist, len(router.roster)) or lacking:
            raise TuneError(
                f"{path}: was collected for fewer shortlists or excerpts; remove it, and they are "
                "collected again"
            )
        return outputs
    with Progress(
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task("asking both stages", total=len(turns))
        outputs = collect(
            router, turns, shortlist, excerpts, lambda done, _: bar.update(task, completed=done)
        )
    if path is not None:
        write_outputs(outputs, path)
    return outputs
