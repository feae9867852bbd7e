"""`train pairs`: (request, skill) pairs from any folder of SKILL.md files, in one file."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from eval.files import write_whole
from eval.train.errors import TrainError
from eval.train.look_alikes import look_alikes
from eval.train.phrases import Phrase, find_phrases
from roster import Roster, Skill

SHINGLE = 8
"""Words a shingle."""
MOST_SHARED = 0.15
"""Share of a skill's shingles found in an excluded roster past which the skill is a copy."""
LEAST_DESCRIPTION, LEAST_BODY = 40, 300
"""Characters below which a skill says too little to learn from."""
MOST_SKILLS_A_REQUEST = 3
"""A request that more skills share says nothing about any of them."""

_WORD = re.compile(r"\w+")


class PairedSkill(BaseModel):
    """One line of a pairs file: a skill and the requests its text spells out.

    Attributes:
        name: The author's name of the skill; names need not be distinct.
        description: On one line.
        body: The body.
        requests: The requests with their kinds, at least one.
        look_alikes: Rows (0-based lines) of the skills most like it, most alike first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    description: str
    body: str
    requests: tuple[tuple[str, str], ...]
    look_alikes: tuple[int, ...] = ()

    def without(self, request: str) -> Skill:
        """The skill without a request's words: else the pair could be told by a literal match."""
        gone = re.compile(re.escape(request), re.IGNORECASE)
        return Skill(
            name=self.name,
            description=gone.sub(" ", self.description),
            body=gone.sub(" ", self.body),
        )


@dataclass(frozen=True)
class Mined:
    """What mining found.

    Attributes:
        skills: Skills with at least one request.
        left_out: How many skills an excluded roster holds, by name or by text.
        too_short: How many skills say too little.
        kinds: Requests by kind.
    """

    skills: list[PairedSkill]
    left_out: int
    too_short: int
    kinds: dict[str, int]


def mine_pairs(archive: str | Path, exclude: Iterable[str | Path] = ()) -> Mined:
    """Read every skill of a folder and find the requests its text spells out.

    Args:
        archive: The folder; skills may share names there.
        exclude: Rosters to keep out of training. A skill is left out when one of them has its
            name, or more than `MOST_SHARED` of its word shingles.

    Raises:
        RosterError: If a folder or roster cannot be read.
        TrainError: If no request is found.
    """
    names, shingles = _excluded(exclude)
    kept: list[tuple[Skill, list[Phrase]]] = []
    left_out = too_short = 0
    for skill in _skills(Roster.from_directory(archive, duplicates="namespace")):
        if len(skill.description) < LEAST_DESCRIPTION or len(skill.body) < LEAST_BODY:
            too_short += 1
            continue
        own = _shingles(skill)
        if skill.name in names or len(own & shingles) > MOST_SHARED * len(own):
            left_out += 1
            continue
        kept.append((skill, find_phrases(skill.description, skill.body)))
    spread = Counter(phrase.text.lower() for _, phrases in kept for phrase in phrases)
    telling = [
        (skill, [p for p in phrases if spread[p.text.lower()] <= MOST_SKILLS_A_REQUEST])
        for skill, phrases in kept
    ]
    telling = [(skill, phrases) for skill, phrases in telling if phrases]
    if not telling:
        raise TrainError(
            f"{archive}: no skill there spells out a request ({left_out} left out, {too_short} too "
            "short); give a folder with more skills"
        )
    alike = look_alikes([skill for skill, _ in telling])
    paired = [
        PairedSkill(
            name=skill.name,
            description=skill.description,
            body=skill.body,
            requests=tuple((p.text, p.kind) for p in phrases),
            look_alikes=rows,
        )
        for (skill, phrases), rows in zip(telling, alike, strict=True)
    ]
    kinds = Counter(kind for one in paired for _, kind in one.requests)
    return Mined(paired, left_out, too_short, dict(sorted(kinds.items())))


def write_pairs(skills: Sequence[PairedSkill], path: str | Path) -> str:
    """Write a pairs file, whole or not at all.

    Returns:
        Its SHA-256 (hex).
    """
    content = "".join(one.model_dump_json() + "\n" for one in skills).encode("utf-8")
    write_whole(path, content)
    return hashlib.sha256(content).hexdigest()


def read_pairs(path: str | Path) -> tuple[list[PairedSkill], str]:
    """Read a pairs file.

    Returns:
        The skills, and the file's SHA-256 (hex).

    Raises:
        TrainError: If it cannot be read or a line is not as `train pairs` writes it.
    """
    path = Path(path).expanduser()
    try:
        content = path.read_bytes()
        lines = content.decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TrainError(
            f"{path}: cannot be read ({error}); make it with skill-router train pairs"
        ) from error
    skills = [_paired(f"{path}:{i}", line) for i, line in enumerate(lines, 1) if line.strip()]
    for number, one in enumerate(skills, start=1):
        if not all(0 <= row < len(skills) for row in one.look_alikes):
            raise TrainError(
                f"{path}: skill {number}: look_alikes: names a row that is not there; the file was "
                "cut or joined, make it anew with skill-router train pairs"
            )
    return skills, hashlib.sha256(content).hexdigest()


def _paired(where: str, line: str) -> PairedSkill:
    try:
        one = PairedSkill.model_validate(json.loads(line))
        Skill(name=one.name, description=one.description, body=one.body)
        "".join(text for text, _ in one.requests).encode("utf-8")  # no lone surrogates
    except (ValidationError, ValueError, RecursionError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise TrainError(f"{where}: is no skill with requests ({reason}); mend the line") from error
    if not one.requests or not all(text.strip() for text, _ in one.requests):
        raise TrainError(f"{where}: requests: is empty or holds a blank one; remove it")
    return one


def _skills(roster: Roster) -> Iterator[Skill]:
    """The skills under their authors' names, with descriptions on one line."""
    for skill in roster:
        name = skill.name.rpartition(":")[2]
        description = " ".join(skill.description.split())
        yield skill.model_copy(update={"name": name, "description": description})


def _excluded(rosters: Iterable[str | Path]) -> tuple[set[str], set[str]]:
    names: set[str] = set()
    shingles: set[str] = set()
    for path in rosters:
        for skill in _skills(Roster.from_path(path, duplicates="namespace")):
            names.add(skill.name)
            shingles |= _shingles(skill)
    return names, shingles


def _shingles(skill: Skill) -> set[str]:
    words = _WORD.findall(f"{skill.description} {skill.body}".lower())
    return {" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))}
