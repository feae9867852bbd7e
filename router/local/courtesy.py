"""Messages that are courtesy and nothing else: they ask for nothing, whatever they look like.

The gate is learned from requests; "thanks, that helps!" is none, and a skill about release notes
can look like the best answer to it.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_LONGEST = 120
"""Characters past which a message says more than thanks."""

_COURTESY = (
    "thanks thank thx thankyou ty cheers hello hi hey bye goodbye morning afternoon evening "
    "night welcome sorry great perfect awesome cool nice lovely brilliant wonderful amazing "
    "excellent ok okay good fine lol haha wow yay congrats congratulations appreciate "
    "appreciated danke hallo gracias hola merci bonjour salut obrigado ciao grazie 谢谢 你好 多谢 "
    "ありがとう こんにちは"
)
_FILLER = (
    "a again all and are as be day did does everything exactly for from have he help helped "
    "helps i is it its job just later lot lots love m me much my needed no now of oh one "
    "really s see she so solved sounds that the then there these they this those to today "
    "tomorrow too totally very was we well were wanted work worked works yeah yes you your"
)
_KIND, _ALLOWED = frozenset(_COURTESY.split()), frozenset(f"{_COURTESY} {_FILLER}".split())


def is_courtesy(request: str) -> bool:
    """Whether every word of a message is one of courtesy, or goes with it, and none asks."""
    if len(request) > _LONGEST or "?" in request or "？" in request:
        return False
    said = set(_WORD.findall(request.lower()))
    return bool(said & _KIND) and said <= _ALLOWED
