"""Judges by name: what "claude", "systemone" and "cascade" stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from roster import Roster
from router.errors import RouterError
from router.judge import Judge
from router.proposals.judge import ModelJudge, Questions
from router.proposals.session import Limits
from router.thresholds import Thresholds

if TYPE_CHECKING:
    from router.cascade import Cascade

JudgeName = Literal["local", "claude", "systemone", "cascade"]
ModelName = Literal["claude", "systemone"]


class JudgeSetup(BaseModel):
    """Which model a judge asks, and how; one record for every kind.

    Attributes:
        model: Name of the model; None takes the judge's default.
        base_url: Root of the server; None takes the SDK's environment variable or default.
        api_key: The key; None takes the SDK's environment variable.
        timeout_s: Seconds for one HTTP exchange; None takes the judge's default.
        max_retries: Retries by the SDK; None takes the SDK's default.
        strict: Whether Claude's tool asks for grammar-constrained input.
        wording: Another questions file for System One.
        limits: Budgets of one stage of one turn.
        second: For a cascade, who is asked in the uncertain band.
        second_thresholds: For a cascade, when the second judge stays silent.
        band: For a cascade, path of a band file; None takes the one that comes with the package.
        second_deadline_s: For a cascade, seconds the second judge may take.
        per_minute: For a cascade, most turns a minute that ask the second judge.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True
    )

    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout_s: float | None = Field(default=None, gt=0)
    max_retries: int | None = Field(default=None, ge=0, le=20)
    strict: bool = True
    wording: str | None = None
    limits: Limits = Limits(deadline_s=30.0)
    second: ModelName | Judge = "claude"
    second_thresholds: Thresholds = Thresholds()
    band: str | None = None
    second_deadline_s: float = Field(default=3.0, gt=0)
    per_minute: int = Field(default=60, ge=0)


def make_judge(
    judge: Judge | str, roster: Roster, thresholds: Thresholds, setup: JudgeSetup | None = None
) -> Judge:
    """A judge that asks a model; a judge of the caller's own is returned as it is.

    Args:
        judge: "claude", "systemone", or a judge.
        roster: The roster it will rank.
        thresholds: Its excerpt length is what the second question shows of each body.
        setup: Which model is asked, and how.

    Raises:
        RouterError: If the name is unknown, an SDK or a key is missing, or the roster is too
            large for the budget.
    """
    if not isinstance(judge, str):
        return judge
    setup = setup or JudgeSetup()
    made = ModelJudge(_questions(judge, thresholds, setup), setup.limits)
    made.check(roster)
    return made


def make_cascade(roster: Roster, setup: JudgeSetup | None = None) -> Cascade:
    """The second judge of a cascade, and when it is asked.

    Raises:
        RouterError: As `make_judge`; also if the band file cannot be used.
    """
    from router.cascade import Band, Cascade
    from router.pipeline import Router

    setup = setup or JudgeSetup()
    thresholds = setup.second_thresholds
    judge = make_judge(setup.second, roster, thresholds, setup)
    second = Router(roster, judge, thresholds, getattr(judge, "digest", ""))
    return Cascade(
        second,
        Band.load(setup.band),
        deadline_s=setup.second_deadline_s,
        per_minute=setup.per_minute,
    )


def _questions(name: str, thresholds: Thresholds, setup: JudgeSetup) -> Questions:
    shared = {
        "model": setup.model,
        "base_url": setup.base_url,
        "api_key": setup.api_key,
        "timeout_s": setup.timeout_s,
        "max_retries": setup.max_retries,
        "excerpt": thresholds.excerpt,
    }
    given = {key: value for key, value in shared.items() if value is not None}
    try:
        if name == "claude":
            from router.claude import ClaudeQuestions, ClaudeSettings

            claude = ClaudeSettings.model_validate({**given, "strict": setup.strict})
            return ClaudeQuestions(claude, setup.limits.max_reply_bytes)
        if name == "systemone":
            from router.systemone import SystemOneQuestions, SystemOneSettings

            settings = SystemOneSettings.model_validate({**given, "wording": setup.wording})
            return SystemOneQuestions(settings, setup.limits.max_reply_bytes)
    except ValidationError as error:
        first = error.errors()[0]
        raise RouterError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    names = ", ".join(get_args(JudgeName))
    raise RouterError(f"there is no judge {name[:40]!r}; the judges are {names}")
