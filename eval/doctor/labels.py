"""What labelled requests say of each skill: misses, false loads, confusions, missing phrasings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from eval.bench import Answer
from eval.doctor.records import RULES, Finding
from eval.doctor.wording import content_words, listed, nameable
from eval.metrics import rate
from roster import Roster
from router.local.text import spoken

MIN_REQUESTS = 3
"""Fewer requests of a skill are no ground for a finding."""

MISS_RATE = 0.5
"""Least share of missed requests in a finding."""


def label_report(answers: Sequence[Answer]) -> dict[str, Any]:
    """Rates per skill, and which requests go where.

    Args:
        answers: The router's answers to labelled requests.

    Returns:
        ``skills``: by name, ``requests``, ``missed`` (of these, not suggested), ``false_loads``
        (suggested for a request of another skill or of none), with ``miss_rate`` and
        ``false_load_rate`` as `eval.metrics.Rate` records; ``confusions``: rows of ``gold``,
        ``suggested`` (None for silence), ``count``, the most frequent first.
    """
    own: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    loaded: Counter[str] = Counter()
    falsely: Counter[str] = Counter()
    confused: Counter[tuple[str | None, str | None]] = Counter()
    for answer in answers:
        gold, name = answer.turn.gold, answer.suggestion.name
        if gold is not None:
            own[gold] += 1
            missed[gold] += name != gold
        if name is not None:
            loaded[name] += 1
            falsely[name] += name != gold
        if gold != name:
            confused[gold, name] += 1
    others = len(answers)
    skills = {
        name: {
            "requests": own[name],
            "missed": missed[name],
            "false_loads": falsely[name],
            "miss_rate": rate(missed[name], own[name]).model_dump(),
            "false_load_rate": rate(falsely[name], others - own[name]).model_dump(),
        }
        for name in sorted(own.keys() | loaded.keys())
    }
    rows = [
        {"gold": gold, "suggested": name, "count": count}
        for (gold, name), count in sorted(
            confused.items(), key=lambda item: (-item[1], str(item[0]))
        )
    ]
    return {"turns": len(answers), "skills": skills, "confusions": rows}


def label_findings(roster: Roster, answers: Sequence[Answer]) -> list[Finding]:
    """Findings from labelled requests."""
    report = label_report(answers)
    findings = []
    for name, row in report["skills"].items():
        skill = roster[name]
        if row["requests"] >= MIN_REQUESTS and row["missed"] >= MISS_RATE * row["requests"]:
            texts = _texts(answers, name)
            words = missing_words(roster, answers, name)
            findings.append(
                _finding(
                    "misses",
                    name,
                    words=tuple(words),
                    message=f"{row['missed']} of its {row['requests']} requests are missed, such "
                    f"as '{_short(texts[0])}'",
                    remedy=f"add to the description what the misses say: {listed(words)}"
                    if words
                    else "add the words of the missed requests to the description",
                    path=skill.source,
                    weight=row["missed"] / row["requests"],
                    details={"missed": texts},
                )
            )
        if row["false_loads"] >= MIN_REQUESTS:
            false = [a for a in answers if a.suggestion.name == name and a.turn.gold != name]
            words = _shared(roster, name, [answer.turn.text for answer in false])
            golds = Counter(answer.turn.gold for answer in false if answer.turn.gold)
            other = golds.most_common(1)[0][0] if golds else None
            remedy = "say in the description what it is not for"
            if other:
                remedy = f"add to the description: Not for ...; use {other}"
            findings.append(
                _finding(
                    "false-loads",
                    name,
                    other=other,
                    words=tuple(words),
                    message=f"it is suggested for {len(false)} requests that are not its own, such "
                    f"as '{_short(false[0].turn.text)}'",
                    remedy=remedy,
                    path=skill.source,
                    weight=float(len(false)),
                    details={"requests": [answer.turn.text for answer in false]},
                )
            )
    for row in report["confusions"]:
        gold, name, count = row["gold"], row["suggested"], row["count"]
        if gold is None or name is None or count < 2:
            continue
        texts = [
            answer.turn.text
            for answer in answers
            if answer.turn.gold == gold and answer.suggestion.name == name
        ]
        words = _shared(roster, name, texts)
        findings.append(
            _finding(
                "confused",
                gold,
                other=name,
                words=tuple(words),
                message=f"{count} of its requests go to {name}, such as '{_short(texts[0])}'",
                remedy=f"add to {name}: Not for ...; use {gold}; and to {gold} the words of these "
                "requests",
                path=roster[gold].source,
                weight=float(count),
                details={"requests": texts},
            )
        )
    return findings


def missing_phrasings(
    roster: Roster, answers: Sequence[Answer], name: str
) -> list[tuple[str, list[str]]]:
    """The missed requests of a skill, each with its words that the description lacks.

    Args:
        roster: The roster.
        answers: The router's answers.
        name: The skill.

    Returns:
        Requests and words, those with the most frequent missing words first; one request for
        each new set of words, so that none repeats another.
    """
    texts = _texts(answers, name)
    weights = Counter(word for text in texts for word in _lacking(roster, name, text))
    found: list[tuple[str, list[str]]] = []
    seen: set[str] = set()
    for text in sorted(texts, key=lambda t: -sum(weights[w] for w in _lacking(roster, name, t))):
        lacking = _lacking(roster, name, text)
        if not lacking or set(lacking) - seen:
            found.append((text, lacking))
            seen.update(lacking)
    return found


def missing_words(roster: Roster, answers: Sequence[Answer], name: str) -> list[str]:
    """Words of the missed requests of a skill that its description lacks.

    The most telling first: frequent in its misses, rare in the requests of others.
    """
    mine: Counter[str] = Counter()
    everyone: Counter[str] = Counter()
    for answer in answers:
        used = set(content_words(answer.turn.text))
        everyone.update(used)
        if answer.turn.gold == name and answer.suggestion.name != name:
            mine.update(used & set(_lacking(roster, name, answer.turn.text)))
    ranked = sorted(mine, key=lambda word: (-mine[word] / (1 + everyone[word]), -mine[word], word))
    return ranked[:8]


def _lacking(roster: Roster, name: str, text: str) -> list[str]:
    skill = roster[name]
    has = set(content_words(f"{spoken(name)} {skill.description}"))
    return list(dict.fromkeys(w for w in nameable(content_words(text)) if w not in has))


def _shared(roster: Roster, name: str, texts: Sequence[str]) -> list[str]:
    """Words of requests that the description of a skill has too, the most frequent first."""
    own = set(content_words(f"{spoken(name)} {roster[name].description}"))
    count = Counter(word for text in texts for word in set(content_words(text)) & own)
    return nameable(word for word, _ in count.most_common(8))


def _texts(answers: Sequence[Answer], name: str) -> list[str]:
    return [a.turn.text for a in answers if a.turn.gold == name and a.suggestion.name != name]


def _finding(code: str, skill: str, **fields: Any) -> Finding:
    severity, _ = RULES[code]
    return Finding(code=code, severity=severity, skill=skill, **fields)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:97] + "..."
