"""Words that carry content, and whether a description says when to use a skill."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from router.local.lexical import words

_GRAMMAR = frozenset(
    re.findall(
        r"\w+",
        """a about above across after again all also always am an and any anything are as asked
        asks at be because been before being between both but by can cannot could couldn did didn
        do does doesn doing don done each either etc even every everything for from had has have
        having how however i if in into is isn it its just like ll many may more most much must no
        not of on once one only or other our out over per re same shall should shouldn so some such
        than that the their them then there these they this those through to too under up upon us
        use used user users uses using various ve via want wants was wasn we were what when whenever
        where whether which while who will with within won would wouldn you your""",
    )
)
# Praise and filler: two lines that differ only in these say the same.
_FILLER = frozenset(
    re.findall(
        r"\w+",
        """advanced available based best better capability complete comprehensive effective
        enable enables ensure essential expert general good great guidance guide guides help
        helpful helps include includes including perform powerful practical professional
        provide provided provides providing quick robust several skill skills specific support
        supports task tasks useful well""",
    )
)
_EMPTY = _GRAMMAR | _FILLER
# Ends of words that are no plurals: class, status, analysis, macos, canvas, nodejs, gitops,
# kubernetes. They are shown to people.
_NO_PLURAL = ("ss", "us", "is", "os", "as", "js", "itops", "evops", "netes")
# Words of every trade: a phrase made of these stands for no skill.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """agent agents allow allows ask become cover covers covering create creates creating
        example examples file files full generate get give given gives handle handles
        implement make makes making manage need needed needs new project projects process
        processes request requests section sections see set step steps system thing things
        tool tools triggers type way work workflow working works write""",
    )
)

_WHEN = re.compile(
    r"\b(?:when|whenever|before|after|while|during|if|upon|once|unless|until|where)\b"
    r"|\buse (?:this|it|for|to|as|by|the)\b|\b(?:used|useful|ideal|suitable|suited|intended"
    r"|appropriate|recommended|perfect|great|best) (?:for|to|by|as)\b|\btrigger|\bactivat|\binvok"
    r"|\bproactively\b|\bask(?:s|ed|ing)?\b|\bmention|\bwants?\b|\bneeds?\b|\brequests?\b"
    r"|\bquestions?\b|\btasks? (?:that|like|such|involv)|\b(?:for|in) (?:any|all|every)\b"
    r"|\bkeywords?\b|\bscenarios?\b|\buse cases?\b|\bapplies\b|\bapply\b|\bhandles\b"
    r"|\b(?:cuando|si|usar|quando|se|wenn|falls|bei|quand|lorsque|lors|pour|para)\b"
    r"|[\"\u201c\u300c\u00ab][^\"\u201d\u300d\u00bb]{6,}[\"\u201d\u300d\u00bb]"
    r"|当|时|時|用于|用於|适用|適用|触发|觸發|如果|场景|場景|需要|使用|とき|場合|際"
    r"|때|경우|사용|필요|когда|если|при |для",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\b(?:not|never|except|exclud\w*|instead|rather|avoid|unless|without|cannot|only|beyond|unlike"
    r"|neither|nor|no|skip|ignore|nicht|nur|ohne|keine?|pas|sans|sauf|sin|nunca|salvo|não|sem)\b"
    r"|n['\u2019]t\b|不|勿|别|非|除|仅|只|ない|ません|のみ|않|아닌|만 |не |кроме|без|только",
    re.IGNORECASE,
)
_UNREAD = re.compile("[\u0590-\u08ff\u0900-\u0dff\u0e00-\u0fff]")


def content_words(text: str) -> list[str]:
    """The words of a text that stand for a subject, in order, repeated ones repeated.

    Plural and singular count as one word; words that every trade uses are left out.
    """
    return [word for word in telling_words(text) if word not in _COMMON]


def telling_words(text: str) -> list[str]:
    """The words of a text that say anything at all: `content_words` and common verbs and nouns."""
    return [_stem(word) for word in words(text) if word not in _EMPTY and _counts(word)]


def _counts(word: str) -> bool:
    if word.isascii():
        return len(word) > 1 and not word.isdigit()
    return unicodedata.category(word[0])[0] in "LN"


def _stem(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith(_NO_PLURAL):
        if word.endswith("ies") and len(word) > 4:
            return f"{word[:-3]}y"
        return word[:-2] if word.endswith(("ches", "shes", "xes", "sses", "zes")) else word[:-1]
    return word


def nameable(words_found: Iterable[str]) -> list[str]:
    """Of some content words, those a person would name: whole words, no pairs of characters."""
    return [word for word in words_found if len(word) > 2 and word.isascii() and word.isalpha()]


def says_when(description: str) -> bool | None:
    """Whether a description says when to use the skill; None for a script it cannot be seen in."""
    if _is_unread(description):
        return None
    return _WHEN.search(description) is not None


def says_limit(description: str) -> bool | None:
    """Whether a description says what the skill is not for; None as `says_when`."""
    if _is_unread(description):
        return None
    return _LIMIT.search(description) is not None


def _is_unread(text: str) -> bool:
    return len(_UNREAD.findall(text)) * 5 > len(text)


def listed(items: Iterable[str], most: int = 5) -> str:
    """The first few of some words, in quotation marks."""
    return ", ".join(f"'{item}'" for item in list(items)[:most])
