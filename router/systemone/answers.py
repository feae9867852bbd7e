"""System One answers to proposals, strictly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from router.proposals.bounds import Bounds
from router.proposals.errors import MalformedReply
from router.proposals.parse import shown
from router.proposals.shapes import WideProposal, normalized, require_keys, unit
from router.suggestion import Gate, Reread
from router.systemone.wording import FITS_PREFIX, GATE_FIELDS, GATE_PREFIX, WHICH
from router.usage import Usage


def read_wide_answers(data: Mapping[str, Any], bounds: Bounds) -> WideProposal:
    """Read the answers to the first question.

    Args:
        data: The parsed reply.
        bounds: The names that were the labels of the choice.

    Raises:
        MalformedReply: If the reply has not exactly the answers that were asked for.
        ForbiddenProposal: If a label was never asked about, or is forbidden this turn.
    """
    gates = {f"{GATE_PREFIX}{key}": field for key, field in GATE_FIELDS.items()}
    answers = _answers(data, [WHICH, *gates])
    gate = Gate(**{field: _noul(answers[name], name) for name, field in gates.items()})
    choice = _choice(answers[WHICH], bounds)
    ranking = sorted(choice.items(), key=lambda entry: -entry[1])
    return WideProposal(ranking=tuple(ranking), gate=gate)


def read_reread_answers(data: Mapping[str, Any], bounds: Bounds) -> Reread:
    """Read the answers to the second question.

    Args:
        data: The parsed reply.
        bounds: The candidates.

    Raises:
        MalformedReply: If the reply has not exactly the answers that were asked for.
        ForbiddenProposal: If a label was never asked about, or is forbidden this turn.
    """
    about = {f"{FITS_PREFIX}{name}": name for name in bounds.asked}
    answers = _answers(data, [WHICH, *about])
    fits = {name: _noul(answers[key], key) for key, name in about.items()}
    choice = _choice(answers[WHICH], bounds)
    return Reread(choice=normalized(choice, WHICH), fits=fits)


def answer_tokens(data: Mapping[str, Any]) -> Usage:
    """The tokens a reply reports; what is missing or no count is 0."""
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    counts = [usage.get(key) for key in ("input_tokens", "output_tokens")]
    given, made = (n if type(n) is int and n >= 0 else 0 for n in counts)
    return Usage(input_tokens=given, output_tokens=made)


def _answers(data: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    # What else stands around the answers is the API's own to extend; the answers are not.
    answers = data.get("answers")
    if not isinstance(answers, dict):
        raise MalformedReply("answers: must be an object")
    require_keys(answers, names, "answers")
    return answers


def _noul(answer: Any, where: str) -> float:
    if not isinstance(answer, dict) or answer.get("type") != "noul":
        raise MalformedReply(f"answers.{shown(where)}: must be a noul answer")
    return unit(answer.get("noul"), f"answers.{shown(where)}.noul")


def _choice(answer: Any, bounds: Bounds) -> dict[str, float]:
    where = f"answers.{WHICH}"
    if not isinstance(answer, dict) or answer.get("type") != "choice":
        raise MalformedReply(f"{where}: must be a choice answer")
    given = answer.get("probabilities")
    chosen = answer.get("choice")
    if not isinstance(given, dict) or not isinstance(chosen, str):
        raise MalformedReply(f"{where}: needs choice and probabilities")
    unit(answer.get("confidence"), f"{where}.confidence")
    probabilities = {
        name: unit(p, f"{where}.probabilities.{shown(name)}") for name, p in given.items()
    }
    for name in (chosen, *probabilities):
        bounds.require(name)
    missing = sorted(bounds.asked.difference(probabilities))
    if missing:
        raise MalformedReply(f"{where}.probabilities: {shown(missing[0])} is missing")
    return probabilities
