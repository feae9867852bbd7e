"""Feeds inputs to targets and counts what becomes of them."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from eval.fuzz.target import FaultError, Target

SLOW_S = 2.0
"""Processor seconds an input may take; a slower one is a fault."""

MAX_INPUT = 1 << 20
"""Longest input in bytes."""

_KINDS_KEPT = 20


@dataclass
class Fault:
    """A kind of fault.

    Attributes:
        kind: Error type and the place it came from.
        example: The first input that showed it.
        error: What was raised, with its traceback.
        count: How many inputs showed it.
    """

    kind: str
    example: bytes
    error: str
    count: int = 0


@dataclass
class Tally:
    """What became of the inputs of one target.

    Attributes:
        target: Its name.
        inputs: Inputs fed.
        accepted: Those it could use.
        refused: Those it refused with a clean error.
        faults: Kinds of faults.
        slowest_s: Most processor seconds of an input.
        seconds: Wall seconds of all of them.
    """

    target: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    faults: dict[str, Fault] = field(default_factory=dict)
    slowest_s: float = 0.0
    seconds: float = 0.0

    @property
    def faulty(self) -> int:
        """Inputs that showed a fault."""
        return sum(fault.count for fault in self.faults.values())


def shares(targets: Sequence[Target], inputs: int) -> dict[str, int]:
    """How many of the inputs each target gets, at least one."""
    total = sum(target.share for target in targets)
    return {target.name: max(1, -(-inputs * target.share // total)) for target in targets}


def fuzz(
    targets: Sequence[Target],
    inputs: int,
    seed: int = 1,
    told: Callable[[Tally], None] = lambda tally: None,
) -> list[Tally]:
    """Feed inputs to targets, one target after the other.

    Args:
        targets: The targets.
        inputs: Inputs in all, shared out by `Target.share`.
        seed: The same seed gives the same inputs.
        told: Told about every target when it is done.

    Returns:
        One tally a target.
    """
    tallies = []
    for target in targets:
        tally = Tally(target.name)
        began = time.perf_counter()
        for number in range(shares(targets, inputs)[target.name]):
            feed_one(target, make_input(target, seed, number), tally)
        tally.seconds = time.perf_counter() - began
        tallies.append(tally)
        told(tally)
    return tallies


def make_input(target: Target, seed: int, number: int) -> bytes:
    """The input of a number: the same for the same seed, whatever came before it."""
    return target.make(random.Random(f"{seed}:{target.name}:{number}"))[:MAX_INPUT]


def feed_one(target: Target, data: bytes, tally: Tally) -> None:
    """Feed one input and count what becomes of it."""
    tally.inputs += 1
    began = time.process_time()
    try:
        accepted = target.feed(data)
        took = time.process_time() - began
        if took > SLOW_S:
            raise FaultError(f"took {took:.1f} s of processor time")
    except Exception as error:  # every one of them is a finding
        took = time.process_time() - began
        kind = _kind(error)
        fault = tally.faults.get(kind)
        if fault is None:
            if len(tally.faults) >= _KINDS_KEPT:
                kind = "more kinds"
            fault = tally.faults.setdefault(
                kind, Fault(kind, data, "".join(traceback.format_exception(error)))
            )
        fault.count += 1
    else:
        tally.accepted += accepted
        tally.refused += not accepted
    tally.slowest_s = max(tally.slowest_s, took)


def keep_examples(tallies: Sequence[Tally], folder: Path) -> list[Path]:
    """Write an input of every kind of fault, and its traceback, into a folder.

    Returns:
        The inputs' files; ``--replay`` feeds one again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = []
    for tally in tallies:
        for fault in tally.faults.values():
            name = f"{tally.target}-{sha256(fault.kind.encode()).hexdigest()[:8]}"
            (folder / f"{name}.txt").write_text(fault.error, encoding="utf-8", errors="replace")
            (folder / f"{name}.input").write_bytes(fault.example)
            kept.append(folder / f"{name}.input")
    return kept


def _kind(error: Exception) -> str:
    """Type and place of an error; of what a target demands, the demand without its example."""
    if isinstance(error, FaultError):
        return f"fault: {str(error).split(':')[0][:100]}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f"{Path('eval') / 'fuzz'}" not in f.filename] or frames
    last = own[-1] if own else None
    place = f"{Path(last.filename).name}:{last.name}" if last else "?"
    return f"{type(error).__name__} in {place}"
