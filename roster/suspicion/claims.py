"""Descriptions that claim every request, and text that speaks to whoever judges skills."""

from __future__ import annotations

import re
import unicodedata

from roster.suspicion.hidden import without_unseen
from roster.suspicion.records import Sign

_SKILL = r"(?:this(?: skill)?|\S{1,64}[-_]\S{1,64})"
_ASKED = (
    r"(?:(?:user|incoming|single|possible|other|kind of|type of|user's) ){0,2}"
    r"(?:requests?|prompts?|messages?|questions?|turns?|queries|query|inputs?)"
)
# What follows narrows the claim down: "every request that touches billing".
_NARROWED = (
    r"(?! (?:about|for|to|in|that|which|related|regarding|involving|concerning|where|of|on|with|"
    r"from|id|body|param|log|template|type|schema))"
)
_CLAIMS = (
    rf"(?:for|to|on|in|at|before|handles?|answers?|covers?|of) (?:every|all|any|each) {_ASKED}\b"
    rf"{_NARROWED}",
    r"what(?:ever|soever) (?:the )?users? (?:asks?|says?|wants?|requests?)\b",
    r"no matter what\b(?=[^.]{0,40}\b(?:requests?|users?|asks?|asked)\b)",
    r"regardless of (?:the|what|which)\b[^.]{0,20}\b(?:requests?|prompts?|asks?|asked|question)\b",
    r"(?:before|instead of|over|rather than) (?:using )?any other skills?\b",
    r"(?:never|do not|don't) (?:use|select|choose|load|pick|suggest) (?:any )?other skills?\b",
    r"(?:always|must|required)\b[^.]{0,50}\b(?:every|each|any|all) (?:conversations?|user input)\b",
    r"universal skill\b",
    r"without exception\b",
    r"handles? (?:all|any|every) tasks?\b",
)
# Sentences that make sense only to a model that reads a list of skills to choose from.
_TO_JUDGES = (
    r"(?:ignore|disregard|forget|override) (?:all |any |the |your |my )*"
    r"(?:previous|prior|above|earlier|preceding|other|system) "
    r"(?:instructions?|rules?|prompts?|messages?|directions?)\b",
    rf"(?:rank|rate|score|place|put|list) (?:me|it|{_SKILL}) (?:first|highest|at the top)\b",
    r"(?:probability|confidence|fit) ?(?:of|to|=|:|is)? ?(?:1(?:\.0+)?|100 ?%)(?![\d.])",
    rf"you must (?:always )?(?:select|choose|rank|pick|suggest|prefer) {_SKILL}(?=[\s.,;!]|$)",
    rf"always (?:select|choose|rank|pick|suggest) {_SKILL}(?= ?[.;!]|$| (?:first|over|and)\b)",
    r"only valid (?:answer|skill|choice) is\b",
    r"(?:note|message|instructions?) (?:to|for) the (?:model|judge|router|ranker|classifier|ai)\b",
    r"others? (?:skills? |candidates? )?(?:are|is) (?:deprecated|disabled|unsafe|invalid)\b",
    r"(?:administrator|admin|operator|developer) (?:has )?(?:approved|authori[sz]ed|permitted)\b",
)


def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(patterns) + ")", re.IGNORECASE)


_OPENING = 1_500
_CLAIM = _any_of(_CLAIMS)
_TO_JUDGE = _any_of(_TO_JUDGES)
# Marks with which prompts and replies are framed; a description has no use for them.
_MARKS = (
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|eot_id)\|>|\[/?INST\]"
    r"|(?:^|[\n.!?]\s{0,8})(?:SYSTEM|Human|Assistant)\s{0,8}:\s"
)
_FRAMES = re.compile(
    rf"{_MARKS}|</?(?:skills?|system|available_skills|skill_relevance|tool_result|candidates?)>"
)
# Honest bodies explain themselves in tags, skills about skills in these very ones.
_BODY_FRAMES = re.compile(rf"{_MARKS}|</(?:available_skills|skill_relevance|tool_result)>")


def claims(description: str) -> list[Sign]:
    """Signs of a description that claims every request."""
    found = [match.group() for match in _CLAIM.finditer(_flat(description))]
    if not found:
        return []
    return [
        Sign(
            code="claims-every-request",
            points=min(0.85, 0.5 + 0.35 * (len(found) - 1)),
            reason=f"the description claims every request: {_quoted(found)}",
        )
    ]


def instructions(description: str, body: str) -> list[Sign]:
    """Signs of a text that speaks to whoever chooses between skills.

    Of the body, only the opening is shown to a judge that asks a model. Skills about prompts quote
    such sentences there, so one of them weighs less than in a description.
    """
    signs: list[Sign] = []
    for where, text, frames, one, more in (
        ("description", description, _FRAMES, 0.85, 0.95),
        ("opening of the text", body[:_OPENING], _BODY_FRAMES, 0.4, 0.85),
    ):
        told = [match.group() for match in _TO_JUDGE.finditer(_flat(text))]
        told += [match.group().strip() for match in frames.finditer(text)]
        if told:
            signs.append(
                Sign(
                    code="addresses-the-judge",
                    points=one if len(set(told)) == 1 else more,
                    reason=f"the {where} speaks to whoever chooses skills: {_quoted(told)}",
                )
            )
    return signs


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", without_unseen(text)).split())


def _quoted(found: list[str]) -> str:
    return ", ".join(repr(one[:60]) for one in dict.fromkeys(found[:3]))
