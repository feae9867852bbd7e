"""Labelled turns: reading them, and refusing what cannot be measured."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from roster.text import field_path
from router.turn import Turn


class RequestsError(ValueError):
    """Labelled turns that cannot be used; the message names file, line, field and remedy."""


class LabelledTurn(BaseModel):
    """A request and the one skill it should load.

    Attributes:
        text: The request.
        gold: Name of the right skill, or None when no skill of the roster fits.
        kind: What sort of turn it is; "covered" or "uncovered" when the file does not say.
        recent_context: Earlier messages, oldest first.
        near: For a near miss, the skill it is close to.
        style: "short", "medium" or "long".
        lang: Language code.
        names_tool: Whether the request names the skill or its tool.
        acts_on_system: First gate answer, when given.
        documented_procedure: Second gate answer, when given.
        prose_suffices: Third gate answer, when given.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str
    gold: str | None = None
    kind: str | None = None
    recent_context: tuple[str, ...] = ()
    near: str | None = None
    style: str | None = None
    lang: str = "en"
    names_tool: bool | None = None
    acts_on_system: bool | None = None
    documented_procedure: bool | None = None
    prose_suffices: bool | None = None

    @property
    def covered(self) -> bool:
        """Whether a skill of the roster fits."""
        return self.gold is not None

    @property
    def group(self) -> str:
        """The kind, or "covered" / "uncovered" when none was given."""
        return self.kind or ("covered" if self.covered else "uncovered")

    @property
    def gate_answers(self) -> tuple[bool, bool, bool] | None:
        """The three gate answers, or None unless all are given."""
        answers = (self.acts_on_system, self.documented_procedure, self.prose_suffices)
        if any(answer is None for answer in answers):
            return None
        return (bool(answers[0]), bool(answers[1]), bool(answers[2]))

    def turn(self) -> Turn:
        """The turn a router is asked about."""
        return Turn(request=self.text, recent_context=self.recent_context)


def load_turns(
    path: str | Path, names: Iterable[str] | None = None, gold_required: bool = True
) -> list[LabelledTurn]:
    """Read labelled turns from a JSON array or JSON Lines.

    Args:
        path: The file.
        names: Skill names of the roster; a gold outside them is refused. None accepts any.
        gold_required: Whether every record must carry the key `gold` (null for no skill).

    Returns:
        The turns in the file's order, at least one.

    Raises:
        RequestsError: If the file cannot be read or holds no turns, or a record is malformed, has
            a blank text, repeats one, or names an unknown skill.
    """
    path = Path(path).expanduser()
    known = None if names is None else set(names)
    turns: list[LabelledTurn] = []
    first_seen: dict[tuple[str, tuple[str, ...]], str] = {}
    for where, record in _records(path):
        turn = _turn(where, record, gold_required)
        if known is not None and turn.gold is not None and turn.gold not in known:
            raise RequestsError(
                f"{where}: gold: the roster has no skill {turn.gold!r}; mend the name, or give the "
                "roster these requests were written for"
            )
        key = (turn.text, turn.recent_context)
        if key in first_seen:
            raise RequestsError(
                f"{where}: text: the same request stands at {first_seen[key]}; remove one of them"
            )
        first_seen[key] = where
        turns.append(turn)
    if not turns:
        raise RequestsError(f"{path}: holds no requests; give at least one record with text, gold")
    return turns


def requests_digest(turns: Sequence[LabelledTurn]) -> str:
    """SHA-256 (hex) over texts, contexts and golds in order."""
    parts = [[turn.text, list(turn.recent_context), turn.gold] for turn in turns]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _turn(where: str, record: Any, gold_required: bool) -> LabelledTurn:
    if not isinstance(record, dict):
        raise RequestsError(f"{where}: is not an object; write {{'text': ..., 'gold': ...}}")
    if "gold" not in record and gold_required:
        raise RequestsError(f"{where}: gold: is missing; give a skill name, or null for no skill")
    try:
        turn = LabelledTurn.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        field = field_path(first["loc"])
        raise RequestsError(f"{where}: {field}: {first['msg']}") from error
    if not turn.text.strip():
        raise RequestsError(f"{where}: text: is blank; give the user's request")
    return turn


def _records(path: Path) -> Iterable[tuple[str, Any]]:
    if path.exists() and not path.is_file():
        raise RequestsError(f"{path}: is no regular file; give a JSON array or JSON Lines file")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RequestsError(
            f"{path}: cannot be read ({error.strerror}); give a JSON array or JSON Lines file"
        ) from error
    except UnicodeDecodeError as error:
        raise RequestsError(f"{path}: is not UTF-8 text (byte {error.start})") from error
    if text.lstrip("\ufeff \r\n\t").startswith("["):
        try:
            array = json.loads(text.lstrip("\ufeff"))
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 1)
            raise RequestsError(f"{path}:{line}: is not JSON ({error})") from error
        lines = _lines_of_array(text.lstrip("\ufeff"), len(array))
        return [
            (f"{path}:{line}: record {i}", record)
            for i, (line, record) in enumerate(zip(lines, array, strict=True), start=1)
        ]
    records = []
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append((f"{path}:{number}", json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise RequestsError(f"{path}:{number}: is not JSON ({error}); mend the line") from error
    return records


def _lines_of_array(text: str, count: int) -> list[int]:
    """The line on which each of the `count` elements of a well-formed JSON array starts."""
    decoder, between, lines = json.JSONDecoder(), re.compile(r"[\s,]*"), []
    at = text.index("[") + 1
    line = 1 + text.count("\n", 0, at)
    for _ in range(count):
        found = between.match(text, at)
        start = at if found is None else found.end()
        line += text.count("\n", at, start)
        lines.append(line)
        _, at = decoder.raw_decode(text, start)
        line += text.count("\n", start, at)
    return lines
