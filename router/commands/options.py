"""Options that several commands share, and what they load."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from roster import Roster
from router.judge import Judge
from router.local.vectors import Progress
from router.pipeline import Router

Command = Callable[..., Any]

_QUARANTINE = "router.quarantine"


def router_options(command: Command) -> Command:
    """Add the options that choose roster, thresholds, encoder and heads."""
    for option in reversed(
        [
            click.option(
                "--roster",
                "roster_path",
                metavar="PATH",
                help="A folder searched for SKILL.md, or a .json or .jsonl file.  "
                "[default: bundled]",
            ),
            click.option(
                "--duplicates",
                type=click.Choice(["error", "first", "namespace"]),
                default="error",
                show_default=True,
                help="What to do with skills of one name.",
            ),
            click.option(
                "--thresholds", metavar="FILE", help="A TOML file.  [default: those shipped]"
            ),
            click.option(
                "--encoder", metavar="NAME", help='"minilm", a folder, or a model\'s name.'
            ),
            click.option("--heads", metavar="FILE", help="Heads learned for that encoder."),
            click.option(
                "--reranker",
                metavar="NAME",
                help='A pair scorer the heads were learned with; "none" for none.  '
                "[default: shipped]",
            ),
            click.option("--cache", metavar="DIR", help="Folder of the index cache."),
            click.option(
                "--quarantine",
                metavar="WHAT",
                help="Skills that are never eligible: a suspicion level, a TOML file, or off.  "
                "[default: 0.8]",
                # Kept beside the arguments: `load_router` is all that needs it.
                expose_value=False,
                callback=_keep_quarantine,
            ),
        ]
    ):
        command = option(command)
    return command


def judge_options(command: Command) -> Command:
    """Add the options that choose the judge; the command gets them as one `judge`."""
    options = [
        click.option(
            "--judge",
            "judge_name",
            type=click.Choice(["local", "claude", "systemone", "cascade"]),
            default="local",
            show_default=True,
            help="Who answers: the local judge, a model, or the local one and a model where it is "
            "unsure. Keys come from the environment.",
        ),
        click.option(
            "--second",
            metavar="NAME",
            default="claude",
            show_default=True,
            help="For a cascade, the second judge: claude or systemone; bench also takes "
            "scripted, which knows every answer.",
        ),
        click.option("--judge-model", metavar="NAME", help="The model that the judge asks."),
        click.option("--judge-url", metavar="URL", help="Root of the model's server."),
        click.option(
            "--judge-timeout",
            type=click.FloatRange(min=0, min_open=True),
            metavar="S",
            help="Seconds for one exchange with the model.",
        ),
        click.option(
            "--band", metavar="FILE", help="For a cascade, another band.  [default: shipped]"
        ),
        click.option(
            "--judge-per-minute",
            type=click.IntRange(min=0),
            metavar="N",
            help="For a cascade, most turns a minute that ask the second judge.  "
            "[default: 60; without limit in bench]",
        ),
        click.option(
            "--deadline",
            type=click.FloatRange(min=0, min_open=True),
            metavar="S",
            help="Seconds a turn may take; a slower one gets no suggestion.",
        ),
    ]

    @functools.wraps(command)
    def with_judge(
        *args: Any,
        judge_name: str,
        second: str,
        judge_model: str | None,
        judge_url: str | None,
        judge_timeout: float | None,
        band: str | None,
        judge_per_minute: int | None,
        deadline: float | None,
        **rest: Any,
    ) -> Any:
        choice = JudgeChoice(
            name=judge_name,
            second=second,
            model=judge_model,
            base_url=judge_url,
            timeout_s=judge_timeout,
            band=band,
            per_minute=judge_per_minute,
            deadline_s=deadline,
        )
        return command(*args, judge=choice, **rest)

    wrapped: Command = with_judge
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


@dataclass(frozen=True)
class JudgeChoice:
    """What the options of `judge_options` say."""

    name: str = "local"
    second: str = "claude"
    model: str | None = None
    base_url: str | None = None
    timeout_s: float | None = None
    band: str | None = None
    per_minute: int | None = None
    deadline_s: float | None = None

    def settings(self, second: Judge | None = None) -> dict[str, Any]:
        """Arguments of `Router.load`.

        Args:
            second: A second judge of the command's own, in place of the one named.

        Raises:
            click.UsageError: If the second judge is unknown.
        """
        from router.judges import JudgeSetup

        if second is None and self.second not in ("claude", "systemone"):
            raise click.UsageError(
                f"--second {self.second}: the second judge is claude or systemone"
            )
        setup = JudgeSetup(
            model=self.model,
            base_url=self.base_url,
            timeout_s=self.timeout_s,
            second=second if second is not None else self.second,  # type: ignore[arg-type]
            band=self.band,
        )
        if self.per_minute is not None:
            setup = setup.model_copy(update={"per_minute": self.per_minute})
        return {"judge": self.name, "setup": setup, "deadline_s": self.deadline_s}


def load_roster(path: str | None, duplicates: str = "error") -> Roster:
    """The roster of `--roster`, or the bundled one; with a hint on names that clash."""
    from roster.cli import load

    return load(path, duplicates)  # type: ignore[arg-type]  # click has checked the choice


def _keep_quarantine(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[_QUARANTINE] = value


def _quarantine() -> str | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_QUARANTINE)


def load_router(
    roster: Roster,
    thresholds: str | None,
    encoder: str | None,
    heads: str | None,
    cache: str | None,
    reranker: str | None = None,
    judge: JudgeChoice | None = None,
    second: Judge | None = None,
) -> Router:
    """A router with a progress bar on a terminal while the index is built."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = None

        def show(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                task = bar.add_task("indexing skills", total=total)
            bar.update(task, completed=done, total=total)

        progress: Progress | None = show if sys.stderr.isatty() else None
        return Router.load(
            roster,
            thresholds=thresholds,
            encoder=encoder,
            heads=heads,
            reranker=reranker,
            cache=cache,
            progress=progress,
            quarantine=_quarantine(),
            **(judge or JudgeChoice()).settings(second),
        )
