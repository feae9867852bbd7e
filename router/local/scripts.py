"""Scripts an encoder serves, and what of a skill is left when the others are taken out.

An encoder that was trained on English sees nothing in, say, Chinese but which characters there are.
One Chinese remark in an English skill then looks like the answer to every Chinese request.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from roster import Roster, Skill
from router.errors import EncoderError

CARD = "encoder.json"
ENGLISH = frozenset({"latin", "greek"})
"""Scripts of an encoder that was trained on English: Greek letters stand in its formulas."""

_NAMED = 5
_ASCII = bytes(range(128))
_log = logging.getLogger(__name__)


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str | None:
    """The script of a letter, None for anything else.

    Args:
        character: One character.

    Returns:
        The first word of its Unicode name in lower case, such as "latin", "cyrillic", "cjk",
        "hiragana" or "hangul".
    """
    if not character.isalpha():
        return None
    # Compatibility forms, such as full-width Latin, count as what they stand for.
    plain = unicodedata.normalize("NFKC", character)[:1] or character
    return unicodedata.name(plain, "unknown").split(" ")[0].split("-")[0].lower()


def scripts_of_card(card: Any, place: str | Path) -> frozenset[str] | None:
    """The key `scripts` of an encoder's card.

    Args:
        card: Content of `encoder.json`.
        place: Where it is from, for errors.

    Returns:
        The scripts as `script_of` names them; None (every script) when the key is missing.

    Raises:
        EncoderError: If it is no list of names.
    """
    scripts = card.get("scripts") if isinstance(card, dict) else None
    if scripts is None:
        return None
    if not isinstance(scripts, list) or not scripts or not all(isinstance(s, str) for s in scripts):
        raise EncoderError(
            f'{place}: scripts: is no list of names; write for instance ["latin", "cyrillic"], or '
            "leave it out for an encoder that serves every script"
        )
    return frozenset(script.lower() for script in scripts)


def scripts_of_folder(folder: Path) -> frozenset[str] | None:
    """The scripts that a model's folder declares in `encoder.json`; None when it does not.

    Raises:
        EncoderError: If that file cannot be read.
    """
    path = folder / CARD
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise EncoderError(
            f"{path}: cannot be read as JSON ({error}); mend or remove it"
        ) from error
    return scripts_of_card(card, path)


def served_scripts(encoder: object) -> frozenset[str] | None:
    """The scripts an encoder declares in its attribute `scripts`; None means all."""
    scripts: frozenset[str] | None = getattr(encoder, "scripts", None)
    return scripts


def as_read(roster: Roster, encoder: object) -> Roster:
    """A roster whose skills hold only what an encoder can read.

    Letters of other scripts become spaces in bodies, for all signals alike, unless the skill's own
    description is written in that script too: then it is meant to be found by it, as well as shared
    words and characters allow.

    Args:
        roster: The roster.
        encoder: The encoder; see `served_scripts`.

    Returns:
        The same roster when there is nothing to take out.
    """
    scripts = served_scripts(encoder)
    if scripts is None:
        return roster
    unread = {skill.name: _unread(skill.body, scripts) for skill in roster}
    described = {skill.name: _unread(skill.description, scripts) for skill in roster}
    other = [skill.name for skill in roster if _mostly(skill.description, described[skill.name])]
    if other:
        _log.warning(
            "the encoder %r cannot read the descriptions of %d skills (%s%s), only what they hold "
            "in the scripts %s; load a multilingual encoder for them",
            getattr(encoder, "name", "?"),
            len(other),
            ", ".join(other[:_NAMED]),
            ", ..." if len(other) > _NAMED else "",
            ", ".join(sorted(scripts)),
        )
    removed = {name: _foreign(letters, described[name]) for name, letters in unread.items()}
    if not any(removed.values()):
        return roster
    return Roster.from_skills([_without(skill, removed[skill.name]) for skill in roster])


def _unread(text: str, scripts: frozenset[str]) -> frozenset[str]:
    """Distinct letters of a text that are in other scripts."""
    raw = text.encode("utf-8", "surrogatepass")
    # A cold start waits for this: bytes go ten times faster than characters, and most are ASCII.
    others = set(raw.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
    kept = scripts | {"modifier"}
    return frozenset(x for x in others if (script := script_of(x)) and script not in kept)


def _foreign(letters: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    """Letters of a body in scripts that the description does not use."""
    known = {script_of(x) for x in said}
    return frozenset(x for x in letters if script_of(x) not in known)


def _mostly(text: str, letters: frozenset[str]) -> bool:
    if not letters:
        return False
    count = sum(character in letters for character in text)
    return count * 2 > sum(character.isalpha() for character in text)


def _without(skill: Skill, letters: Iterable[str]) -> Skill:
    table = dict.fromkeys(map(ord, letters), " ")
    if not table:
        return skill
    return skill.model_copy(update={"body": skill.body.translate(table)})
