"""The two proposals a judge's model makes, their JSON schemas and their strict readers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from router.proposals.bounds import Bounds
from router.proposals.errors import MalformedReply
from router.proposals.parse import shown
from router.suggestion import Gate, Reread

GATE_KEYS = ("acts_on_system", "documented_procedure", "prose_suffices")


class WideProposal(BaseModel):
    """A model's answer to the first question.

    Attributes:
        ranking: The named skills with their probabilities as proposed, the likeliest first.
        gate: The three answers about the request.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ranking: tuple[tuple[str, float], ...]
    gate: Gate


def wide_schema() -> dict[str, Any]:
    """JSON schema of the first proposal; the same for every turn and roster.

    It keeps to what strict tool use takes: no numeric ranges, no lengths, every key required.
    """
    entry = _closed(
        {
            "name": {"type": "string", "description": "Exact name of a listed skill."},
            "probability": _unit("Probability that this skill is the right one"),
        }
    )
    return _closed(
        {
            "ranking": {
                "type": "array",
                "items": entry,
                "description": "At most 10 skills, the likeliest first, each once.",
            },
            "acts_on_system": _unit(
                "Probability that carrying out the request means acting on files, accounts, "
                "devices or services of the user"
            ),
            "documented_procedure": _unit(
                "Probability that an expert would follow written steps or look up exact commands"
            ),
            "prose_suffices": _unit(
                "Probability that an answer in plain words, without any tool, settles the request"
            ),
        }
    )


def reread_schema(names: Sequence[str]) -> dict[str, Any]:
    """JSON schema of the second proposal, for the candidates of one turn."""
    entry = _closed(
        {
            "name": {"type": "string", "enum": list(names)},
            "choice": _unit("Probability that it is the best of the candidates; they sum to 1"),
            "fit": _unit(
                "Probability that it does the very thing that is asked; each stands for itself"
            ),
        }
    )
    return _closed(
        {
            "candidates": {
                "type": "array",
                "items": entry,
                "description": "Every candidate exactly once.",
            }
        }
    )


def read_wide(data: Mapping[str, Any], bounds: Bounds, most: int = 50) -> WideProposal:
    """Read the first proposal.

    Args:
        data: The parsed reply.
        bounds: What may be named.
        most: Most skills that may be ranked.

    Raises:
        MalformedReply: If the shape is wrong or a skill is ranked twice.
        ForbiddenProposal: If the shape is right and a name is out of bounds.
    """
    require_keys(data, ("ranking", *GATE_KEYS), "the reply")
    entries = _list(data["ranking"], "ranking", most)
    ranking = []
    for at, entry in enumerate(entries):
        where = f"ranking[{at}]"
        record = _record(entry, where, ("name", "probability"))
        name = _text(record["name"], f"{where}.name")
        ranking.append((name, unit(record["probability"], f"{where}.probability")))
    gate = Gate(**{key: unit(data[key], key) for key in GATE_KEYS})
    _refuse_repeats([name for name, _ in ranking], "ranking")
    for name, _ in ranking:
        bounds.require(name)
    ranking.sort(key=lambda entry: -entry[1])
    return WideProposal(ranking=tuple(ranking), gate=gate)


def read_reread(data: Mapping[str, Any], bounds: Bounds) -> Reread:
    """Read the second proposal.

    Args:
        data: The parsed reply.
        bounds: What may be named; every name of `bounds.asked` must be there.

    Raises:
        MalformedReply: If the shape is wrong, a candidate is missing or there twice, or all
            choices are 0.
        ForbiddenProposal: If the shape is right and a name is out of bounds.
    """
    require_keys(data, ("candidates",), "the reply")
    choice: dict[str, float] = {}
    fits: dict[str, float] = {}
    entries = _list(data["candidates"], "candidates", 1000)
    names = []
    for at, entry in enumerate(entries):
        where = f"candidates[{at}]"
        record = _record(entry, where, ("name", "choice", "fit"))
        name = _text(record["name"], f"{where}.name")
        names.append(name)
        choice[name] = unit(record["choice"], f"{where}.choice")
        fits[name] = unit(record["fit"], f"{where}.fit")
    _refuse_repeats(names, "candidates")
    for name in names:
        bounds.require(name)
    missing = sorted(bounds.asked.difference(names))
    if missing:
        raise MalformedReply(f"candidates: {shown(missing[0])} is missing; give every candidate")
    return Reread(choice=normalized(choice, "choice"), fits=fits)


def normalized(choice: Mapping[str, float], where: str) -> dict[str, float]:
    """Probabilities scaled so that they sum to 1.

    Raises:
        MalformedReply: If all are 0.
    """
    total = sum(choice.values())
    if total <= 0:
        raise MalformedReply(f"{where}: every probability is 0; they must sum to 1")
    return {name: min(1.0, p / total) for name, p in choice.items()}


def unit(value: Any, where: str) -> float:
    """A probability.

    Raises:
        MalformedReply: If it is no finite number in 0..1.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedReply(f"{where}: must be a number")
    if not math.isfinite(value) or not 0.0 <= value <= 1.0:
        raise MalformedReply(f"{where}: must lie in 0..1")
    return float(value)


def require_keys(data: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    """Refuse an object that does not have exactly these keys.

    Raises:
        MalformedReply: If a key is missing or unknown.
    """
    expected = list(keys)
    missing = [key for key in expected if key not in data]
    if missing:
        raise MalformedReply(f"{where}: the key {shown(missing[0])} is missing")
    unknown = [key for key in data if key not in expected]
    if unknown:
        raise MalformedReply(f"{where}: the key {shown(str(unknown[0]))} is unknown")


def _record(value: Any, where: str, keys: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise MalformedReply(f"{where}: must be an object")
    require_keys(value, keys, where)
    return value


def _list(value: Any, where: str, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise MalformedReply(f"{where}: must be a list")
    if len(value) > most:
        raise MalformedReply(f"{where}: holds more than {most} entries")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise MalformedReply(f"{where}: must be a text")
    return value


def _refuse_repeats(names: Sequence[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise MalformedReply(f"{where}: {shown(name)} stands twice")
        seen.add(name)


def _unit(meaning: str) -> dict[str, Any]:
    return {"type": "number", "description": f"{meaning}, from 0 to 1."}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
