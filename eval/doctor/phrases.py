"""Phrases of a body that stand for what the skill is asked to do."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eval.doctor.wording import content_words
from roster import Skill
from router.local.text import MAX_BODY, plain, spoken

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ x]\]\s*)?")
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")
_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")
_CODE = re.compile(r"`[^`\n]*`|https?://\S+|\$\{?\w+|[\w./~-]*/[\w./-]+|<[^>\n]{1,80}>")
_USE = re.compile(r"when|use this|use for|trigger|scenario|何时|使用", re.IGNORECASE)


@dataclass(frozen=True)
class Candidate:
    """A phrase of a body.

    Attributes:
        text: The phrase in plain words.
        says_when: Whether it stands where the body says when to use the skill.
        words: Its content words.
    """

    text: str
    says_when: bool
    words: frozenset[str]


def candidates(skill: Skill) -> list[Candidate]:
    """Sentences, list items and headings of a body in plain words.

    The title and whatever holds the whole name are left out: they would find the skill by its
    name. So are phrases that are not in Latin letters, which the shipped encoder knows too little
    of to judge by.
    """
    name = set(content_words(spoken(skill.name)))
    found: dict[str, Candidate] = {}
    says_when = False
    for line in _FENCE.sub("", skill.body[:MAX_BODY]).split("\n"):
        text = line.strip()
        if text.startswith(("# ", "|", "<", "---")):
            continue
        if text.startswith("#"):
            says_when = _USE.search(text) is not None
            text = text.lstrip("# ")
        text = _LINK.sub(r"\1", _ITEM.sub("", text))
        for sentence in _SENTENCE.split(text):
            phrase = plain(_CODE.sub(" ", sentence)).strip(" :;,->\u2014")
            if phrase in found or len(phrase) > 240 or not _is_latin(phrase):
                continue
            kept = content_words(phrase)
            words = frozenset(kept)
            if 3 <= len(kept) <= 30 and not (name and name <= words):
                found[phrase] = Candidate(phrase, says_when, words)
    return list(found.values())


def _is_latin(phrase: str) -> bool:
    return phrase.isascii() or sum(char.isascii() for char in phrase) > 0.8 * len(phrase)


def choose_phrases(skills: Sequence[Skill], most: int) -> list[list[str]]:
    """The phrases that stand best for each body.

    A phrase is central when its words are frequent in its body and rare in the others' (mean
    tf-idf of its distinct words); a phrase that says when to use the skill counts half more.

    Args:
        skills: The skills.
        most: Most phrases of one skill.

    Returns:
        For each skill its phrases, the most central first.
    """
    counts = [Counter(content_words(plain(skill.body[:MAX_BODY]))) for skill in skills]
    spread = Counter(word for count in counts for word in count)
    rarity = {word: math.log((1 + len(skills)) / (1 + times)) for word, times in spread.items()}
    offered = [candidates(skill) for skill in skills]
    # What several skills say alike, such as a notice of where they come from, names none of them.
    owners = Counter(key for row in offered for key in {candidate.words for candidate in row})
    chosen = []
    for row, count in zip(offered, counts, strict=True):
        telling = {word: (1 + math.log(times)) * rarity[word] for word, times in count.items()}
        scored = []
        for candidate in row:
            if owners[candidate.words] > 1:
                continue
            value = sum(telling.get(word, 0.0) for word in sorted(candidate.words)) / (
                len(candidate.words) + 2
            )
            scored.append((value * (1.5 if candidate.says_when else 1.0), candidate.text))
        scored.sort(key=lambda item: (-item[0], item[1]))
        chosen.append([phrase for _, phrase in scored[:most]])
    return chosen
