"""Procedures estimated from a roster and from what was suggested or loaded for it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from eval.cost.procedures import Procedure
from eval.cost.reading import CostError
from roster import Roster

CHARACTERS_PER_TOKEN = 4.0
"""English prose under the usual tokenizers; code and other scripts need more tokens."""

NAME_KEYS = ("suggested", "name")


def estimate(
    roster: Roster,
    log: str | Path,
    characters_per_token: float = CHARACTERS_PER_TOKEN,
    width: int | None = None,
) -> tuple[list[Procedure], int]:
    """Estimate length and share of every skill of a roster.

    Args:
        roster: The skills; one that the log never names has share 0.
        log: JSON Lines, one call a line, with the skill in ``suggested`` or ``name``, or null: what
            ``skill-router bench --out`` and ``skill-router suggest --json`` write.
        characters_per_token: Characters of a token, above 0.
        width: Characters of a description in the prompt; None counts it in full.

    Returns:
        One procedure a skill, and the number of calls in the log.

    Raises:
        CostError: If the log cannot be read, is empty, or names a skill that is not there.
    """
    if not len(roster):
        raise CostError("the roster has no skills; give one with --roster")
    named = _names(Path(log).expanduser(), roster)
    calls = len(named)
    counts = Counter(name for name in named if name is not None)
    procedures = []
    for skill in roster:
        text = skill.index_description or skill.description
        shown = text if width is None else text[:width]
        # In the index a line holds the name too.
        described = len(skill.name) + len(shown)
        procedures.append(
            Procedure(
                name=skill.name,
                tokens=round(len(skill.body) / characters_per_token, 1),
                share=counts[skill.name] / calls,
                description=round(described / characters_per_token, 1),
            )
        )
    return procedures, calls


def _names(path: Path, roster: Roster) -> list[str | None]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CostError(f"{path}: cannot be read ({error.strerror}); give a log") from error
    except UnicodeDecodeError as error:
        raise CostError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    names: list[str | None] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            names.append(_name(f"{path}:{number}", line, roster))
    if not names:
        raise CostError(f"{path}: holds no calls; give JSON Lines with `suggested` in each")
    return names


def _name(where: str, line: str, roster: Roster) -> str | None:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CostError(f"{where}: is not JSON ({error}); mend the line") from error
    key = next((k for k in NAME_KEYS if isinstance(record, dict) and k in record), None)
    if key is None:
        raise CostError(f"{where}: has no {' or '.join(NAME_KEYS)}; give a skill name or null")
    name = record[key]
    if name is not None and (not isinstance(name, str) or name not in roster):
        raise CostError(
            f"{where}: {key}: the roster has no skill {str(name)[:80]!r}; give the roster the log "
            "is about"
        )
    return name
