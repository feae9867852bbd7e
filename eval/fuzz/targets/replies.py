"""What models write: proposals, tool calls, System One answers; and System One requests."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from eval.fuzz.generate import Random, dumped, record, text, value
from eval.fuzz.light import HashEncoder, light_heads, small_roster
from eval.fuzz.target import Target, clean, require
from router.claude.envelope import tokens, tool_input
from router.claude.wording import REREAD_TOOL, WIDE_TOOL
from router.proposals.bounds import Bounds
from router.proposals.errors import ForbiddenProposal, MalformedReply
from router.proposals.parse import parse_strict
from router.proposals.shapes import read_reread, read_wide
from router.systemone.answers import answer_tokens, read_reread_answers, read_wide_answers
from router.systemone.rosters import RosterJudges
from router.systemone.serving import SystemOneServer
from router.systemone.wording import GATE_FIELDS

_MAX_REPLY = 65_536
_GATE = {"acts_on_system": 0.9, "documented_procedure": 0.5, "prose_suffices": 0.1}
_NAMES = ("kite-repair", "bread-bake", "tax-return", "bike-service", "secret-skill", "a b", "")
_KEYS = ("ranking", "candidates", "name", "probability", "choice", "fit", *_GATE)
_ANSWER_KEYS = ("answers", "usage", "which", "type", "noul", "choice", "probabilities")
_REQUEST_KEYS = ("model", "state", "questions", "assets", "type", "criteria", "instructions")


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    roster = small_roster()
    forbidden = {"bread-bake": "requires oven"}
    bounds = Bounds(asked=frozenset(roster.names) - forbidden.keys(), forbidden=forbidden)
    asked = sorted(bounds.asked)

    def reading(read: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bool]:
        def feed(data: bytes) -> bool:
            try:
                read(parse_strict(data, _MAX_REPLY))
            except (MalformedReply, ForbiddenProposal) as error:
                return clean(error)
            return True

        return feed

    def claude(data: Mapping[str, Any]) -> None:
        tokens(data)
        try:
            names = [name for name, _ in read_wide(tool_input(data, WIDE_TOOL), bounds).ranking]
        except MalformedReply:
            names = list(read_reread(tool_input(data, REREAD_TOOL), bounds).fits)
        require(set(names) <= bounds.asked, "a name out of bounds")

    def system_one(data: Mapping[str, Any]) -> None:
        answer_tokens(data)
        try:
            names = [name for name, _ in read_wide_answers(data, bounds).ranking]
        except MalformedReply:
            names = list(read_reread_answers(data, bounds).fits)
        require(set(names) <= bounds.asked, "a name out of bounds")

    judge = SystemOneServer(RosterJudges(HashEncoder(), light_heads()))

    def serve(data: bytes) -> bool:
        # The first byte says how the rest is packed.
        encoding = ("identity", "gzip", "zstd", "br", None)[(data[:1] or b"\0")[0] % 5]
        body = data[1:]
        if encoding == "gzip" and len(body) % 2:
            body = gzip.compress(body, 1)
        status, answer = judge.answer(body, "application/json", encoding)
        found = json.loads(answer)
        if status == 200:
            return True
        require(status in (413, 415, 422), f"status {status}: {answer[:300]!r}")
        for one in found["detail"]:
            clean(one["msg"])
        return False

    wide = {"ranking": [{"name": asked[0], "probability": 0.9}], **_GATE}
    reread = {"candidates": [{"name": name, "choice": 0.5, "fit": 0.5} for name in asked]}
    gates: dict[str, Any] = {f"gate::{k}": {"type": "noul", "noul": 0.5} for k in GATE_FIELDS}
    which = {"type": "choice", "choice": asked[0], "confidence": 1.0,
             "probabilities": {name: 1 / len(asked) for name in asked}}  # fmt: skip
    return [
        Target("claude-reply", 20, [_message(WIDE_TOOL, wide), _message(REREAD_TOOL, reread)],
               _build_reply, reading(claude)),
        Target("systemone-reply", 16, [json.dumps({"answers": {"which": which, **gates}}).encode()],
               lambda r: _build_answers(r, gates), reading(system_one)),
        Target("systemone-body", 10, [b"\0" + build_system_one(Random(n)) for n in range(4)],
               lambda r: bytes([r.choice((0, 0, 0, 1, 2, 3, 4))]) + build_system_one(r), serve),
    ]  # fmt: skip


def build_system_one(random: Random) -> bytes:
    """A request body of System One, more or less."""
    known = _NAMES if random.random() < 0.3 else _NAMES[:4]
    labels = random.sample(known, random.randrange(1, len(known)))
    choice = {
        "type": lambda r: "choice",
        "instructions": text,
        "criteria": lambda r: {n: r.choice((text(r), None)) for n in labels},
    }
    questions: dict[str, Callable[[Random], object]] = {
        "which": lambda r: record(r, choice, _REQUEST_KEYS),
        f"gate::{random.choice(list(GATE_FIELDS))}": lambda r: {"type": "noul"},
        f"fits::{labels[0]}": lambda r: {"type": "noul", "instructions": text(r)},
    }
    kept = dict(list(questions.items())[: random.randrange(1, 4)])
    if random.random() < 0.2:
        kept[text(random)] = lambda r: value(r, _REQUEST_KEYS)
    fields: dict[str, Callable[[Random], object]] = {
        "model": text,
        "state": lambda r: r.choice((text(r), {"request": text(r), "recent_context": text(r)})),
        "questions": lambda r: record(r, kept, _REQUEST_KEYS),
    }
    return dumped(random, record(random, fields, _REQUEST_KEYS))


def _message(tool: str, given: object) -> bytes:
    content = [
        {"type": "text", "text": "Well."},
        {"type": "tool_use", "name": tool, "input": given},
    ]
    usage = {"input_tokens": 5, "output_tokens": 7}
    return json.dumps({"type": "message", "content": content, "usage": usage}).encode()


def _number(random: Random) -> object:
    if random.random() < 0.95:
        return random.choice((0, 1, 0.5, random.random(), -0.0))
    return random.choice((1.0000001, -1, True, "0.5", None, 10**400))


def _build_reply(random: Random) -> bytes:
    asked = [name for name in _NAMES[:4] if name != "bread-bake"]
    names = random.sample(asked, len(asked))
    if random.random() < 0.2:
        names = random.sample(_NAMES, random.randrange(len(_NAMES)))
    waiting = iter(names)
    entry: dict[str, Callable[[Random], object]] = {
        "name": lambda r: next(waiting),
        **dict.fromkeys(("probability", "choice", "fit"), _number),
    }
    if random.random() < 0.5:
        tool, fields = WIDE_TOOL, dict.fromkeys(_GATE, _number)
        del entry["choice"], entry["fit"]
        where = "ranking"
    else:
        tool, fields, where = REREAD_TOOL, {}, "candidates"
        del entry["probability"]
    made = record(random, fields, _KEYS)
    made[where] = [record(random, entry, _KEYS) for _ in names]
    message = _message(tool, made)
    return message if random.random() < 0.8 else dumped(random, json.loads(message))


def _build_answers(random: Random, gates: Mapping[str, Any]) -> bytes:
    made = {name: {"type": "noul", "noul": _number(random)} for name in gates}
    names = [name for name in _NAMES[:4] if name != "bread-bake"]
    if random.random() < 0.3:
        names = random.sample(_NAMES, random.randrange(1, 6))
    made["which"] = {
        "type": "choice",
        "choice": random.choice(names),
        "confidence": _number(random),
        "probabilities": {name: _number(random) for name in names},
    }
    whole: dict[str, object] = {"answers": made, "usage": value(random, _ANSWER_KEYS)}
    return dumped(random, whole)
