"""What `bench` measures with: the judges its options name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eval.cascade.scripted import ScriptedJudge
from eval.data import LabelledTurn
from router.commands.options import JudgeChoice
from router.judge import Judge

_WITHOUT_LIMIT = 1_000_000


def judges_of_bench(
    choice: JudgeChoice, turns: Sequence[LabelledTurn]
) -> tuple[JudgeChoice, Judge | None]:
    """The choice as a benchmark needs it, and the scripted second judge if that was chosen.

    A benchmark asks as fast as it can, so a budget per minute holds only when it is given.

    Args:
        choice: What the options say.
        turns: The turns that will be asked.
    """
    if choice.per_minute is None:
        choice = replace(choice, per_minute=_WITHOUT_LIMIT)
    second = ScriptedJudge(turns) if choice.second == "scripted" else None
    return choice, second
