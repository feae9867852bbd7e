"""Replies in the recorded shapes of both APIs, and judges that ask a loopback server for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import SecretStr

from roster import Roster, Skill
from roster.suspicion import Quarantine
from router import Router
from router.judges import JudgeSetup
from router.proposals import Limits

NAMES = ("pdf-fill", "mail-send", "deploy-app")

ROSTER = Roster.from_skills(
    [
        Skill(name="pdf-fill", description="Fill in PDF forms.", body="Use pdftk."),
        Skill(name="mail-send", description="Send an e-mail.", body="Use msmtp."),
        Skill(
            name="deploy-app",
            description="Put a release into production.",
            body="Run deploy.",
            requires=("terminal",),
        ),
    ]
)

GATE = {"acts_on_system": 0.9, "documented_procedure": 0.8, "prose_suffices": 0.1}


def message(
    tool: str, given: Any, usage: Mapping[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """A Messages API reply that calls a tool."""
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": [
            {
                "type": "tool_use",
                "id": "toolu_01D7FLrfh4GYq7yT1ULFeyMV",
                "name": tool,
                "input": given,
            }
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": usage
        or {
            "input_tokens": 40,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 3000,
            "output_tokens": 50,
            "service_tier": "standard",
        },
        **changes,
    }


def claude_answer(request: Mapping[str, Any], best: str, fit: float = 0.9) -> dict[str, Any]:
    """What Claude would say when one skill is the best, to either question."""
    tool = request["tools"][0]["name"]
    if tool == "rank_skills":
        given: dict[str, Any] = {"ranking": [{"name": best, "probability": 0.9}], **GATE}
        return message(tool, given)
    data = json.loads(request["messages"][0]["content"].split("\n\n")[0])
    candidates = [
        {
            "name": one["name"],
            "choice": 1.0 if one["name"] == best else 0.0,
            "fit": fit if one["name"] == best else 0.05,
        }
        for one in data["candidates"]
    ]
    return message(tool, {"candidates": candidates})


def systemone_answer(
    request: Mapping[str, Any], best: str, fit: float = 0.9, model: str = "jev-1.12"
) -> dict[str, Any]:
    """What a System One model would say when one skill is the best, to either question."""
    gates = {
        "gate::acts_on_user_system": 0.9,
        "gate::would_follow_documented_procedure": 0.8,
        "gate::prose_suffices": 0.1,
    }
    answers: dict[str, Any] = {}
    for name, question in request["questions"].items():
        if question["type"] == "choice":
            labels = list(question["criteria"])
            top = best if best in labels else labels[0]
            probabilities = {label: 1.0 if label == top else 0.0 for label in labels}
            answers[name] = {
                "type": "choice",
                "choice": top,
                "confidence": 1.0,
                "probabilities": probabilities,
            }
        elif name in gates:
            answers[name] = {"type": "noul", "noul": gates[name]}
        else:
            answers[name] = {"type": "noul", "noul": fit if name == f"fits::{best}" else 0.05}
    usage = {"input_tokens": 900, "output_tokens": 12}
    return {"model": model, "answers": answers, "usage": usage}


ANSWERS = {"claude": claude_answer, "systemone": systemone_answer}


def router_at(judge: str, url: str, roster: Roster = ROSTER, **changes: Any) -> Router:
    """A router whose judge asks a loopback server."""
    limits = changes.pop("limits", Limits(deadline_s=10.0))
    deadline_s = changes.pop("deadline_s", None)
    setup = JudgeSetup(
        base_url=url,
        api_key=SecretStr("test-key"),
        limits=limits,
        **{"timeout_s": 5.0, "max_retries": 2, **changes},
    )
    # What is planted must be harmless even where no quarantine takes it out.
    quarantine = Quarantine.off()
    return Router.load(
        roster,
        judge=judge,
        setup=setup,
        deadline_s=deadline_s,
        quarantine=quarantine,  # type: ignore[arg-type]
    )


def names_asked(request: Mapping[str, Any]) -> Sequence[str]:
    """The labels of a System One choice."""
    return list(request["questions"]["which"]["criteria"])
