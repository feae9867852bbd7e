"""A deterministic agent without a model, for tests and for a look at the report without a key."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence

from eval.agents.prompt import SKILL_VIEW
from eval.agents.protocol import AgentRequest, Journal, Reply

_LINE = re.compile(r"^    - (?P<name>\S+): (?P<text>.*)$", re.MULTILINE)
_NAMED = re.compile(r"Relevant to the current request: (?P<name>\S+)\. ")
_WORD = re.compile(r"\w{4,}")


class ScriptedAgent:
    """Reads the index and the block as text, and nothing else.

    On its own it loads the skill whose index line shares the rarest words with the request. It
    follows a block that names a skill on 49 of 50 requests (which ones depends on the text of the
    request alone), and after a block that names none it loads only on strong evidence. Its rates
    say something about the machinery, nothing about a real agent.

    Args:
        least: Evidence, in nats of word rarity, that it needs to load a skill unasked.
    """

    def __init__(self, least: float = 6.0) -> None:
        self._least = least
        self._indexes: dict[str, tuple[list[tuple[str, set[str]]], Counter[str]]] = {}

    @property
    def model(self) -> str:
        """Its name."""
        return "scripted"

    @property
    def endpoint(self) -> None:
        """It has none."""

    def answer(self, requests: Sequence[AgentRequest], journal: Journal) -> None:
        """Answer the requests in order; none fails."""
        for request in requests:
            name = self._pick(request)
            loaded = () if name is None else (name,)
            journal.record(request, Reply(loaded=loaded, calls=(SKILL_VIEW,) * len(loaded)))

    def _pick(self, request: AgentRequest) -> str | None:
        text = _request_text(request)
        own, evidence = self._own_pick(request.system[0]["text"], text)
        block = "".join(part["text"] for part in request.system[1:])
        named = _NAMED.search(block)
        if named:
            follows = int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), 16) % 50
            return named["name"] if follows else own
        least = 2.0 * self._least if block else self._least
        return own if evidence >= least else None

    def _own_pick(self, prompt: str, text: str) -> tuple[str | None, float]:
        if prompt not in self._indexes:
            lines = [
                (m["name"], _words(f"{m['name']} {m['text']}")) for m in _LINE.finditer(prompt)
            ]
            self._indexes[prompt] = (lines, Counter(word for _, words in lines for word in words))
        lines, seen = self._indexes[prompt]
        wanted = _words(text)
        best: tuple[str | None, float] = (None, 0.0)
        for name, words in lines:
            # Sorted, so that the sum has the same last bit in every process.
            shared = sorted(words & wanted)
            evidence = sum(math.log(len(lines) / seen[word]) for word in shared)
            if evidence > best[1]:
                best = (name, evidence)
        return best


def _words(text: str) -> set[str]:
    """Words of four letters or more, cut to their first six so that most endings do not count."""
    return {word[:6] for word in _WORD.findall(text.lower())}


def _request_text(request: AgentRequest) -> str:
    content = request.messages[-1]["content"]
    return content if isinstance(content, str) else str(content[-1]["text"])
