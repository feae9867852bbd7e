"""What is remembered between the turns of a conversation."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from roster.loaded import LoadedSkillSet

MAX_TURNS = 10_000
"""Turns that are remembered, over all conversations; the one not used for longest goes first."""


@dataclass(frozen=True)
class Said:
    """What an agent was told at one turn.

    Attributes:
        block: The block; "" when nothing was said.
        asked: Under which circumstances (tools, loaded skills) it was decided.
    """

    block: str
    asked: str


class TurnMemory:
    """The blocks of earlier turns, by the conversation up to them. Safe to share between threads.

    A provider caches the exact bytes it was sent. Whoever puts blocks into user messages therefore
    has to send them again on every later turn, and here is where they are kept. They are found by
    the conversation itself, so one memory serves many conversations, retries and branches.

    Args:
        max_turns: Most turns kept.
    """

    def __init__(self, max_turns: int = MAX_TURNS) -> None:
        if max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, not {max_turns}")
        self._max, self._lock = max_turns, Lock()
        self._said: OrderedDict[str, Said] = OrderedDict()

    def get(self, key: str) -> Said | None:
        """What was said at the turn that ends a conversation, or None."""
        with self._lock:
            said = self._said.get(key)
            if said is not None:
                self._said.move_to_end(key)
            return said

    def put(self, key: str, said: Said) -> None:
        """Remember what was said."""
        with self._lock:
            self._said[key] = said
            self._said.move_to_end(key)
            while len(self._said) > self._max:
                self._said.popitem(last=False)

    def __len__(self) -> int:
        """How many turns are remembered."""
        return len(self._said)


class LoadedSessions:
    """A `LoadedSkillSet` for each session, by its name. Safe to share between threads.

    Args:
        max_sessions: Most sessions kept; the one not used for longest goes first.
    """

    def __init__(self, max_sessions: int = 1_000) -> None:
        if max_sessions < 1:
            raise ValueError(f"max_sessions must be at least 1, not {max_sessions}")
        self._max, self._lock = max_sessions, Lock()
        self._sets: OrderedDict[str, LoadedSkillSet] = OrderedDict()

    def of(self, session: str | None) -> LoadedSkillSet | None:
        """The set of a session, made when it is new; None without a session."""
        if not session:
            return None
        with self._lock:
            found = self._sets.setdefault(session, LoadedSkillSet())
            self._sets.move_to_end(session)
            while len(self._sets) > self._max:
                self._sets.popitem(last=False)
            return found
