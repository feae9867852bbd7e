"""Other wordings of a description that say the same."""

from __future__ import annotations

import re

from roster.store import SkillVersion

_SENTENCE = re.compile(r"(?<=[.!?;\u3002\uff01\uff1f])\s+")


def description_variants(version: SkillVersion) -> list[tuple[str, SkillVersion]]:
    """Variants of a skill whose description says the same in another form.

    Args:
        version: The skill.

    Returns:
        Labels and variants with distinct descriptions: sentences reversed, the last one first,
        lower case, on lines of their own. None of a description that has no other form.
    """
    text = version.description.strip()
    sentences = [part for part in _SENTENCE.split(text) if part]
    forms = {
        "sentences reversed": " ".join(reversed(sentences)),
        "last sentence first": " ".join([*sentences[-1:], *sentences[:-1]]),
        "lower case": text.lower(),
        "a list": "\n".join(f"- {sentence.rstrip('.;')}" for sentence in sentences),
    }
    seen = {text}
    variants = []
    for label, form in forms.items():
        if form not in seen:
            seen.add(form)
            variants.append((label, version.model_copy(update={"description": form})))
    return variants
