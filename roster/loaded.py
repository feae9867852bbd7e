"""The skills whose instructions a session has loaded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, Self

from roster.errors import RosterError
from roster.skill import Skill
from roster.text import is_safe_name

MAX_LOADED = 64
"""Most skills of one session."""

MAX_LOADED_NAME = 256
"""Longest name in a saved state, in characters; a skill's own limit is narrower."""

MAX_LOADED_BODY = 256 << 10
"""Largest body of a saved state, in bytes."""

MAX_STATE = 1 << 20
"""Largest sum of the bodies of a saved state, in bytes."""


class LoadedStateError(RosterError):
    """A session's loaded skills cannot be kept, saved or restored as asked. Nothing was cut."""


class LoadedSkillSet:
    """Names of loaded skills in the order of loading; with bodies where a saved state held them.

    Belongs to one session. Safe to share between threads.

    Args:
        names: Names that are loaded already.

    Raises:
        LoadedStateError: If there are too many, or one is not a safe name.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._lock = Lock()
        self._bodies: dict[str, str | None] = {}
        for name in names:
            self.add(name)

    def add(self, skill: Skill | str) -> bool:
        """Count a skill as loaded.

        Args:
            skill: The skill, or its name.

        Returns:
            False when it was loaded already.

        Raises:
            LoadedStateError: If the session has `MAX_LOADED` skills, or the name is not safe.
        """
        name = skill if isinstance(skill, str) else skill.name
        if not is_safe_name(name):
            raise LoadedStateError(f"{name[:80]!r} is not a skill's name")
        with self._lock:
            if name in self._bodies:
                return False
            if len(self._bodies) >= MAX_LOADED:
                raise LoadedStateError(
                    f"the session has loaded {MAX_LOADED} skills, and no more are kept; "
                    "start a new one"
                )
            self._bodies[name] = None
            return True

    def discard(self, name: str) -> None:
        """Forget a skill, for example when its instructions were compacted away."""
        with self._lock:
            self._bodies.pop(name, None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the order of loading."""
        with self._lock:
            return tuple(self._bodies)

    def restored_body(self, name: str) -> str | None:
        """The exact body that a saved state held for a name, or None."""
        return self._bodies.get(name)

    def __contains__(self, name: object) -> bool:
        """Whether a name is loaded."""
        return name in self._bodies

    def __iter__(self) -> Iterator[str]:
        """The names in the order of loading."""
        return iter(self.names)

    def __len__(self) -> int:
        """How many skills are loaded."""
        return len(self._bodies)

    def to_json(self, bodies_from: Iterable[Skill] | None = None) -> str:
        """The state as JSON text.

        Args:
            bodies_from: Skills whose exact bodies are to be saved too, for example a registry or a
                roster; None saves the names alone. A body that was restored is saved again as it
                was.

        Raises:
            LoadedStateError: If a body is missing or larger than `MAX_LOADED_BODY` bytes, or all
                are larger than `MAX_STATE`. Nothing is ever cut to fit.
        """
        names = self.names
        state: dict[str, Any] = {"loaded": list(names)}
        if bodies_from is not None:
            known = {skill.name: skill.body for skill in bodies_from}
            bodies: dict[str, str] = {}
            for name in names:
                body = self.restored_body(name)
                body = known.get(name) if body is None else body
                if body is None:
                    raise LoadedStateError(f"the body of {name!r} is not known; save names alone")
                bodies[name] = body
            _check_bodies(bodies)
            state["bodies"] = bodies
        return json.dumps(state, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The set that `to_json` wrote.

        Raises:
            LoadedStateError: If the text is no such state, or exceeds a limit.
        """
        try:
            state = json.loads(text)
        except (ValueError, RecursionError, TypeError) as error:
            raise LoadedStateError(f"the saved state is not JSON: {error}") from error
        if not isinstance(state, dict) or not set(state) <= {"loaded", "bodies"}:
            raise LoadedStateError("the saved state is no object of 'loaded' and 'bodies'")
        names, bodies = state.get("loaded"), state.get("bodies", {})
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise LoadedStateError("loaded: is not a list of names")
        if any(len(name) > MAX_LOADED_NAME for name in names):
            raise LoadedStateError(f"loaded: a name is longer than {MAX_LOADED_NAME} characters")
        if len(set(names)) != len(names):
            raise LoadedStateError("loaded: a name occurs twice")
        if not isinstance(bodies, dict) or not set(bodies) <= set(names):
            raise LoadedStateError("bodies: is not an object of loaded names and their bodies")
        if not all(isinstance(body, str) for body in bodies.values()):
            raise LoadedStateError("bodies: a body is not a text")
        _check_bodies(bodies)
        loaded = cls(names)
        loaded._bodies.update(bodies)
        return loaded


def _check_bodies(bodies: dict[str, str]) -> None:
    total = 0
    for name, body in bodies.items():
        size = len(body.encode("utf-8", "surrogatepass"))
        total += size
        if size > MAX_LOADED_BODY:
            raise LoadedStateError(
                f"the body of {name!r} has {size} bytes; at most {MAX_LOADED_BODY} are saved"
            )
    if total > MAX_STATE:
        raise LoadedStateError(f"the bodies have {total} bytes; at most {MAX_STATE} are saved")
