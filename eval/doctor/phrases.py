"""Phrases of a body that stand for what the skill is asked to do."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from eval.doctor.wording import content_words
from roster import Skill
from router.local.text import MAX_BODY, plain, spoken

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ x]\]\s*)?")
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")
_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")
_CODE = re.compile(r"`[^`\n]*`|https?://\S+|\$\{?\w+|[\w./~-]*/[\w./-]+|<[^>\n]{1,80}>")
_USE = re.compile(r"when|use this|use for|trigger|scenario|何时|使用", re.IGNORECASE)


def candidates(skill: Skill) -> list[tuple[str, bool]]:
    """Sentences, list items and headings of a body in plain words, and whether they say when.

    The title and whatever holds the whole name are left out: they would find the skill by its
    name. So are phrases that are not in Latin letters, which the shipped encoder knows too little
    of to judge by.
    """
    name = set(content_words(spoken(skill.name)))
    found: dict[str, bool] = {}
    in_use = False
    for line in _FENCE.sub("", skill.body[:MAX_BODY]).split("\n"):
        text = line.strip()
        if text.startswith(("# ", "|", "<", "---")):
            continue
        if text.startswith("#"):
            in_use = _USE.search(text) is not None
            text = text.lstrip("# ")
        text = _LINK.sub(r"\1", _ITEM.sub("", text))
        for sentence in _SENTENCE.split(text):
            phrase = plain(_CODE.sub(" ", sentence)).strip(" :;,->\u2014")
            kept = content_words(phrase)
            if (
                3 <= len(kept) <= 30
                and len(phrase) <= 240
                and not (name and name <= set(kept))
                and sum(char.isascii() for char in phrase) > 0.8 * len(phrase)
            ):
                found.setdefault(phrase, in_use)
    return list(found.items())


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
    offered = [candidates(skill) for skill in skills]
    # What several skills say alike, such as a notice of where they come from, names none of them.
    owners = Counter(key for row in offered for key in {_key(phrase) for phrase, _ in row})
    chosen = []
    for row, count in zip(offered, counts, strict=True):
        scored = []
        for phrase, in_use in row:
            distinct = set(content_words(phrase))
            if owners[_key(phrase)] > 1:
                continue
            value = sum(
                (1 + math.log(count[word])) * math.log((1 + len(skills)) / (1 + spread[word]))
                for word in distinct
                if count[word]
            ) / (len(distinct) + 2)
            scored.append((value * (1.5 if in_use else 1.0), phrase))
        scored.sort(key=lambda item: (-item[0], item[1]))
        chosen.append([phrase for _, phrase in scored[:most]])
    return chosen


def _key(phrase: str) -> frozenset[str]:
    return frozenset(content_words(phrase))
