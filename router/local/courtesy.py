"""Messages of thanks or greeting and nothing else: they ask for nothing, whatever they look like.

The gate is learned from requests; "thanks, that helps!" is none, and a skill about release notes
can look like the best answer to it. An approval ("great, go on") is no courtesy: it may ask for
what was proposed before.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_GOOD_DAY = re.compile(r"\bgood (?:morning|afternoon|evening|night)\b")
_ASKS = frozenset("?\uff1f\u061f\u037e")
_LONGEST = 120
"""Characters past which a message says more than thanks."""

_COURTESY = (
    "thanks thank thx thankyou ty cheers hello hi hey bye goodbye goodnight welcome "
    "appreciate appreciated danke hallo gracias hola merci bonjour salut obrigado ciao "
    "grazie"
)
_FILLER = (
    "a amazing and awesome brilliant cool everyone excellent fine for friend good great "
    "helped helpful helps i is it just lot lots lovely me much nice of oh ok okay perfect "
    "really so solved sounds team that the there very was we wonderful you your"
)
_KIND = frozenset(_COURTESY.split()) | {
    "\u8c22\u8c22",
    "\u4f60\u597d",
    "\u3042\u308a\u304c\u3068\u3046",
}
_ALLOWED = _KIND | frozenset(_FILLER.split())


def is_courtesy(request: str) -> bool:
    """Whether a message thanks or greets, in words that go with that alone."""
    if len(request) > _LONGEST or not _ASKS.isdisjoint(request):
        return False
    said = set(_WORD.findall(_GOOD_DAY.sub("hello", request.lower())))
    return not said.isdisjoint(_KIND) and said <= _ALLOWED
