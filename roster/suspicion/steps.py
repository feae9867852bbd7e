"""Instructions in a body that no user would want followed."""

from __future__ import annotations

import re

from roster.suspicion.records import Sign

_BEFORE = 110
_NEAR = 160
_HIDES = re.compile(
    r"\b(?:do not|don't|never|without) (?:tell|inform|notify)(?:ing)? (?:the )?user"
    r"|\b(?:do not|don't|never|without) (?:tell|inform|mention|reveal|notify|disclose|show)(?:ing)?"
    r"\b[^.\n]{0,60}\bto the user"
)
_SECRETS = re.compile(
    r"\.ssh/id_|\bid_(?:rsa|ed25519)\b(?!\.pub)|\.aws/credentials|/etc/shadow|\.netrc|"
    r"\.env\b[^\n]{0,20}\bfiles?\b|login keychain"
)
_SENDS = re.compile(r"\b(?:send|post|upload|exfiltrate|transmit|forward)\b[^\n]{0,80}\bhttps?://")
_SHELL = re.compile(r"\| ?(?:sudo )?(?:ba|z)?sh\b")
_FETCH = re.compile(r"\b(?:curl|wget)\b[^\n|]*$")


def dangerous_steps(body: str) -> list[Sign]:
    """Signs of a body that hides what it does, sends secrets away, or runs what it downloads.

    Installers are piped into a shell by honest skills too, so that alone weighs little.
    """
    signs: list[Sign] = []
    low = body.lower()
    hides = _hides(low)
    if hides:
        signs.append(_sign("conceals", 0.4, f"the text hides steps: {hides[:80]!r}"))
    if "http" not in low:
        return signs
    secret = next((found for found in _SECRETS.finditer(low) if _sent(low, found)), None)
    if secret:
        signs.append(
            _sign(
                "sends-secrets", 0.7, f"the text reads {secret.group()!r} and sends something off"
            )
        )
    if any(_FETCH.search(low, max(0, at.start() - 300), at.start()) for at in _SHELL.finditer(low)):
        signs.append(_sign("runs-downloads", 0.1, "the text pipes a download into a shell"))
    return signs


def _sent(low: str, secret: re.Match[str]) -> bool:
    """Whether something is sent off in the sentences around a secret."""
    return _SENDS.search(low, max(0, secret.start() - _NEAR), secret.end() + _NEAR) is not None


def _hides(low: str) -> str | None:
    """The first place that tells an agent to keep something from its user."""
    for user in re.finditer("user", low):
        found = _HIDES.search(low[max(0, user.start() - _BEFORE) : user.end()])
        if found:
            return found.group()
    return None


def _sign(code: str, points: float, reason: str) -> Sign:
    return Sign(code=code, points=points, reason=" ".join(reason.split()))
