"""The texts of a skill that a large index embeds, and the key of each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from roster import Skill
from router.local.text import document, passages, summary


@dataclass(frozen=True)
class SkillTexts:
    """Keys and texts of one skill.

    Attributes:
        document: The text that stands for the whole skill; its tokens are kept too.
        summary: Name and description.
        passages: Pieces of the body, one or more.
    """

    document: str
    summary: str
    passages: tuple[str, ...]

    def keyed(self) -> list[tuple[bytes, str, bool]]:
        """Key, text, and whether token vectors are wanted: document, summary, then passages."""
        rest = [(text_key(text), text, False) for text in (self.summary, *self.passages)]
        return [(text_key(self.document, tokens=True), self.document, True), *rest]


def skill_texts(skill: Skill) -> SkillTexts:
    """The texts of a skill.

    A prefix that tells skills of one name apart (``team-a:deploy``) says where a copy came from
    and nothing of what it does; without it, copies have the same texts and are embedded once.
    """
    bare = skill.name.rsplit(":", 1)[-1]
    plain = skill if bare == skill.name else skill.renamed(bare)
    return SkillTexts(document(plain), summary(plain), tuple(passages(plain)))


def text_key(text: str, tokens: bool = False) -> bytes:
    """The key under which a text's vectors are kept: 16 bytes of its SHA-256."""
    kind = b"tokens\n" if tokens else b"pooled\n"
    return hashlib.sha256(kind + text.encode("utf-8", "replace")).digest()[:16]
