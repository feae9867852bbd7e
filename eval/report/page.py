"""One self-contained page of a benchmark: no other file, no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.agent_bench import ORACLE, AgentRun
from eval.agent_summary import AgentSummary
from eval.bench import Answer
from eval.metrics import Rate
from eval.report import figures
from eval.report.curves import curves
from eval.tune.result import decimals
from eval.tune.stages import StageOutputs
from roster.text import encodable
from router.thresholds import Thresholds

_ROUTER = "router"
_RANKED = 10


@dataclass(frozen=True)
class Report:
    """What a page shows.

    Attributes:
        title: Its heading.
        skills: Skills of the roster.
        summary: Result of `eval.bench.summarize`.
        answers: The router's answers.
        outputs: Stage outputs of the same turns, so that no fit is missing.
        thresholds: The thresholds in use.
        run: The agent's run, or None for the router alone.
        agent: Its numbers.
        whole: Whether `outputs` has fits for every turn, not only past the gate in use.
    """

    title: str
    skills: int
    summary: dict[str, Any]
    answers: Sequence[Answer]
    outputs: StageOutputs
    thresholds: Thresholds
    run: AgentRun | None = None
    agent: AgentSummary | None = None
    whole: bool = True


def render_page(report: Report) -> str:
    """The page as HTML text.

    Requests, names and whatever a model wrote are escaped, and the page's content security policy
    runs its own script and nothing else.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    script = (folder / "page.js").read_text(encoding="utf-8")
    summary, used = report.summary, report.thresholds
    shown = curves(report.outputs, used)
    arms = list(report.run.arms) if report.run else []
    mistakes = _mistakes(report, arms)
    verdicts = sorted({key.split(":")[1] for m in mistakes for key in m["made"].split()})
    page = environment.get_template("page.html").render(
        title=report.title,
        skills=report.skills,
        summary=summary,
        rates={name: Rate.model_validate(r) for name, r in summary["rates"].items()},
        agent=report.agent,
        bars=Markup(_bars(report.agent, report.skills)) if report.agent else "",
        price=_price(report.agent) if report.agent else "",
        whole=report.whole,
        fits=Markup(figures.reliability_diagram(shown.fits, "stated fit", "it is the right skill")),
        gate=Markup(
            figures.reliability_diagram(shown.gate, "stated need", "a skill covers the request")
        ),
        trade_off=Markup(
            figures.trade_off(
                list(shown.needless), list(shown.right), shown.now,
                f"gate {decimals(used.gate)}, fit {decimals(used.fit)}",
            )
        ),
        mistakes=mistakes,
        verdicts=verdicts,
        kinds=sorted({answer.turn.group for answer in report.answers}),
        sources=[(_ROUTER, "the router's"), *((_key(i), f"{a}'s") for i, a in enumerate(arms))],
        digests=[(name, value) for name, value in sorted(summary["digests"].items())],
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode(),
    )  # fmt: skip
    return encodable(page)


def _price(agent: AgentSummary) -> str:
    return str(agent.price) if agent.price else "US $: no price is known for this model"


def _bars(agent: AgentSummary, skills: int) -> str:
    return figures.bars(
        f"{skills} skills, {agent.covered + agent.uncovered} requests, {agent.model}",
        list(agent.arms),
        [arm.wrong_load for arm in agent.arms.values()],
        [arm.needless_load for arm in agent.arms.values()],
        ceiling=ORACLE,
    )


def _key(index: int) -> str:
    """How the page's script names an arm: the name itself may hold anything."""
    return f"arm{index}"


def _mistakes(report: Report, arms: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for index, answer in enumerate(report.answers):
        keys = []
        tags = [
            {
                "who": "router",
                "verdict": answer.verdict,
                "skill": answer.suggestion.name,
                "bad": answer.verdict in ("wrong", "silent", "needless"),
            }
        ]
        if tags[0]["bad"]:
            keys.append(f"{_ROUTER}:{answer.verdict}")
        for number, arm in enumerate(arms):
            outcome = report.run.arms[arm][index] if report.run else None
            if outcome is None:
                continue
            if outcome.failed:
                keys.append(f"{_key(number)}:{outcome.verdict}")
            tags.append(
                {
                    "who": arm,
                    "verdict": outcome.verdict,
                    "skill": outcome.loaded,
                    "bad": outcome.failed,
                }
            )
        if keys:
            found.append({"made": " ".join(keys), "tags": tags, **_shown(report, index, answer)})
    return found


def _shown(report: Report, index: int, answer: Answer) -> dict[str, Any]:
    """The turn, and everything that led to the router's answer."""
    turn, suggestion, outputs = answer.turn, answer.suggestion, report.outputs
    layer = outputs.layer(report.thresholds.excerpt)
    scores = {
        name: (outputs.fits[layer, index, at], outputs.choice[layer, index, at])
        for at, name in enumerate(outputs.names[index])
    }
    gate = suggestion.gate
    return {
        "text": turn.text,
        "context": " / ".join(turn.recent_context),
        "kind": turn.group,
        "gold": turn.gold,
        "reason": suggestion.reason.value,
        "need": "-" if gate is None else f"{gate.need:.2f}",
        "gate": None if gate is None else {
            "acts": f"{gate.acts_on_system:.2f}",
            "procedure": f"{gate.documented_procedure:.2f}",
            "prose": f"{gate.prose_suffices:.2f}",
        },
        "ranking": [
            {
                "name": name,
                "p": f"{p:.3f}",
                "fit": f"{scores[name][0]:.2f}" if name in scores else "",
                "choice": f"{scores[name][1]:.2f}" if name in scores else "",
            }
            for name, p in suggestion.ranking.entries[:_RANKED]
        ],
    }  # fmt: skip
