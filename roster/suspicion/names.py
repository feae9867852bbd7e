"""Names that look like other names (Unicode Technical Standard 39, version 15)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from roster.suspicion.records import Sign

# Letters and digits of other scripts by the ASCII letter or digit they look like: the single
# characters of the standard's table confusables.txt that may stand in a name.
_LIKE = {
    "a": "\u0251\u0391\u03b1\u0410\u0430\u13aa\u15c5\ua4ee",
    "b": "\u0184\u0392\u0412\u042c\u13cf\u13f4\u1472\u15af\u15f7\ua4d0\ua7b4",
    "c": "\u0421\u0441\u13df\u1d04\u2ca4\u2ca5\ua4da\uabaf",
    "d": "\u0501\u13a0\u13e7\u146f\u15de\u15ea\ua4d2\ua4d3",
    "e": "\u0395\u0415\u0435\u04bd\u13ac\u2d39\ua4f0\uab32",
    "f": "\u03dc\u0584\u15b4\u1e9d\ua4dd\ua798\ua799\uab35",
    "g": "\u018d\u0261\u050c\u0581\u13c0\u13f3\u1d83\ua4d6",
    "h": "\u0397\u041d\u04bb\u0570\u13bb\u13c2\u157c\u2c8e\ua4e7",
    "i": "\u0131\u0269\u026a\u03b9\u0456\u04cf\u13a5\ua647\uab75",
    "j": "\u037f\u03f3\u0408\u0458\u13ab\u148d\ua4d9\ua7b2",
    "k": "\u039a\u041a\u13e6\u16d5\u2c94\ua4d7",
    "l": ("\u0196\u01c0\u0399\u0406\u04c0\u06f1\u13de\u14aa\u16c1\u2c92\u2cd0\u2d4f\ua4e1\ua4f2"),
    "m": "\u039c\u03fa\u041c\u13b7\u15f0\u16d6\u2c98\ua4df",
    "n": "\u039d\u0578\u057c\u2c9a\ua4e0",
    "o": (
        "\u039f\u03bf\u03c3\u041e\u043e\u0555\u0585\u06f5\u0966\u09e6\u0a66\u0ae6"
        "\u0b20\u0b66\u0be6\u0c02\u0c66\u0c82\u0ce6\u0d02\u0d20\u0d66\u0d82\u0e50"
        "\u0ed0\u101d\u1040\u10ff\u12d0\u1d0f\u1d11\u2c9e\u2c9f\u2d54\u3007\ua4f3"
        "\uab3d"
    ),
    "p": "\u03a1\u03c1\u0420\u0440\u13e2\u146d\u2ca2\u2ca3\ua4d1",
    "q": "\u051b\u0563\u0566\u2d55",
    "r": "\u01a6\u0433\u13a1\u13d2\u1587\u1d26\u2c85\ua4e3\uab47\uab48\uab81",
    "s": "\u01bd\u0405\u0455\u054f\u13d5\u13da\ua4e2\ua731\uabaa",
    "t": "\u03a4\u0422\u13a2\u2ca6\ua4d4",
    "u": "\u028b\u03c5\u054d\u057d\u1200\u144c\u1d1c\ua4f4\ua79f\uab4e\uab52",
    "v": "\u03bd\u0474\u0475\u06f7\u13d9\u142f\u1d20\u2d38\ua4e6\ua6df\uaba9",
    "w": "\u026f\u0461\u051c\u051d\u0561\u13b3\u13d4\u1d21\ua4ea\uab83",
    "x": "\u03a7\u0425\u0445\u1541\u157d\u16b7\u2cac\u2d5d\ua4eb\ua7b3",
    "y": (
        "\u0263\u028f\u03a5\u03b3\u0423\u0443\u04ae\u04af\u10e7\u13a9\u13bd\u1d8c"
        "\u1eff\u2ca8\ua4ec\uab5a"
    ),
    "z": "\u0396\u13c3\u1d22\ua4dc\uab93",
    "2": "\u01a7\u03e8\u14bf\ua644\ua6ef\ua75a",
    "3": "\u01b7\u021c\u0417\u04e0\u2ccc\ua76a\ua7ab",
    "4": "\u13ce",
    "5": "\u01bc",
    "6": "\u0431\u13ee\u2cd2",
    "8": "\u0222\u0223\u09ea\u0a6a\u0b03",
    "9": "\u09ed\u0a67\u0b68\u0d6d\u2cca\ua76e",
}
_PLAIN = str.maketrans({char: plain for plain, many in _LIKE.items() for char in many})
_ASCII_PLAIN = str.maketrans({"1": "l", "0": "o"})
_PARTS = re.compile(r"[-_.+:/]+")
# Scripts whose letters are taken for Latin ones. Chinese, Japanese or Thai words beside Latin ones
# deceive nobody.
_MIXED_UP = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "CANADIAN", "DESERET")


def skeleton(name: str) -> str:
    """What a name looks like: two names that a reader takes for each other have the same one.

    Args:
        name: A safe name.

    Returns:
        The name in lower case, without accents, each lookalike replaced by its ASCII letter; ``1``
        and ``l``, ``0`` and ``o`` count as alike, and the signs that join words do too.
    """
    text = name.casefold().translate(_PLAIN) if not name.isascii() else name.lower()
    if not text.isascii():
        text = "".join(
            c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)
        )
    return _PARTS.sub("-", text.translate(_ASCII_PLAIN))


def skeletons(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Names that look alike, by their skeleton; names that stand alone are left out."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(skeleton(name), []).append(name)
    return {key: tuple(many) for key, many in found.items() if len(many) > 1}


def lookalike(name: str, alike: Mapping[str, tuple[str, ...]]) -> list[Sign]:
    """Signs of a name that poses as another one, or mixes scripts inside a word.

    Args:
        name: The name.
        alike: `skeletons` of the roster.
    """
    signs: list[Sign] = []
    posing = [other for other in alike.get(skeleton(name), ()) if _poses(name, other)]
    if posing:
        signs.append(
            Sign(
                code="name-lookalike",
                points=0.95,
                reason=f"the name looks like {posing[0]!r} and is another one ({name!a})",
            )
        )
    if not name.isascii():
        mixed = next((part for part in _PARTS.split(name) if _is_mixed(part)), None)
        if mixed is not None:
            signs.append(
                Sign(
                    code="name-mixed-scripts",
                    points=0.7,
                    reason=f"the name mixes letters of two scripts in one word ({mixed!a})",
                )
            )
    return signs


def _poses(name: str, other: str) -> bool:
    """Whether `name` is the odd one of two names that look alike.

    Honest rosters have ``v1.0`` beside ``v1-0`` and ``Deploy`` beside ``deploy``: among ASCII names
    only swapped characters count, and then the one with the digit is odd.
    """
    if name == other:
        return False
    if not name.isascii():
        return other.isascii() or len(name.encode()) > len(other.encode())
    if not other.isascii():
        return False
    if _joined(name) == _joined(other):
        return False
    return sum(c in "01" for c in name) > sum(c in "01" for c in other)


def _joined(name: str) -> str:
    return _PARTS.sub("-", name.lower())


def _is_mixed(part: str) -> bool:
    scripts = {unicodedata.name(char, "").split(" ")[0] for char in part if char.isalpha()}
    return "LATIN" in scripts and any(script in scripts for script in _MIXED_UP)
