"""Import of runs that were published as a `json_cache.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.agents.prompt import SKILL_VIEW
from eval.agents.protocol import AgentError, Reply, Usage
from eval.agents.store import Recorded
from eval.data import LabelledTurn
from roster import Roster
from roster.text import encodable
from router.block import suggestion_block

FUNCTION = "run_turn"
"""Function whose results are imported; a file may hold those of others as well."""

LONGEST_KEY = 200
"""Characters; a longer key was replaced by its SHA-256."""


def read_json_cache(
    path: str | Path, model: str, arms: Sequence[str], turns: Sequence[LabelledTurn], roster: Roster
) -> list[Recorded]:
    """The answers of a published run to labelled requests.

    A key is ``run_turn|model|arm|request|block``, or the SHA-256 of that text where it has more
    than 200 characters. A hash cannot be read back, so every block an arm can have sent (none, the
    "no skill" form, each skill's name) is tried for every request.

    Args:
        path: The file: one JSON object of key to ``{loaded, input_tokens, output_tokens}``.
        model: Model of the run.
        arms: Names that the run may have given its arms.
        turns: The labelled requests.
        roster: The skills that may have been suggested.

    Returns:
        One record for each request and arm that was found.

    Raises:
        AgentError: If the file cannot be read, is something else, or holds nothing of this run.
    """
    path = Path(path).expanduser()
    entries = _read(path)
    blocks: list[tuple[str | None, str]] = [(None, ""), (None, suggestion_block(None))]
    blocks += [(name, suggestion_block(name)) for name in roster.names]
    found = []
    for turn in turns:
        for arm in arms:
            for suggested, block in blocks:
                key = _hit(entries, "|".join((FUNCTION, model, arm, turn.text, block)))
                if key is not None:
                    found.append(
                        Recorded(
                            model=model, arm=arm, request=encodable(turn.text), block=block,
                            suggested=suggested, reply=_reply(path, key, entries[key]),
                        )
                    )  # fmt: skip
                    break
    if not found:
        raise AgentError(
            f"{path}: none of its {len(entries)} entries is an answer of {model!r} to one of these "
            f"{len(turns)} requests in an arm named {', '.join(arms)}; give the model, arms, "
            "roster and requests of that run"
        )
    return found


def _hit(entries: dict[str, Any], key: str) -> str | None:
    return next((form for form in _forms(key) if form in entries), None)


def _forms(key: str) -> Iterator[str]:
    if len(key) <= LONGEST_KEY:
        yield key
        return
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    yield digest
    yield f"{FUNCTION}|{digest}"


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AgentError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{path}: is not JSON ({error})") from error
    if not isinstance(data, dict):
        raise AgentError(f"{path}: is not a JSON object of keys and results")
    return data


def _reply(path: Path, key: str, entry: Any) -> Reply:
    """One result; `input_tokens` there are those that were not read from the cache."""
    try:
        loaded = entry["loaded"]
        if not isinstance(loaded, list) or not all(isinstance(name, str) for name in loaded):
            raise TypeError("loaded is not a list of names")
        usage = Usage(input=entry.get("input_tokens", 0), output=entry.get("output_tokens", 0))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise AgentError(
            f"{path}: {key[:80]}: is not a result ({error}); it needs loaded, a list of names, and "
            "may have input_tokens and output_tokens"
        ) from error
    names = tuple(encodable(name) for name in loaded)
    return Reply(loaded=names, calls=(SKILL_VIEW,) * len(names), usage=usage)
