"""Where Claude Code and Codex look for skills. Standard library only."""
# ruff: noqa: PTH110, PTH111, PTH112, PTH117, PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Iterator

AGENTS = ("claude", "codex")
"""Agents whose skills are found."""

MAX_LEVELS = 24
"""Folders from the working folder upwards that are looked at."""

MAX_FOLDERS = 32
"""Most folders of skills that are used, the nearest ones."""


def skill_folders(agent: str, cwd: str | None) -> list[str]:
    """The folders of skills that an agent uses in a working folder, the nearest first.

    Claude Code: ``.claude/skills`` in the working folder and in each folder above it up to the
    root of the repository, then ``skills`` in the user's folder (`CLAUDE_CONFIG_DIR`, else
    ``~/.claude``). Codex: ``.agents/skills`` and ``.codex/skills`` on the same way, then
    ``~/.agents/skills``, ``skills`` in `CODEX_HOME` (else ``~/.codex``), and at last
    ``/etc/codex/skills``.

    Args:
        agent: "claude" or "codex".
        cwd: The working folder; None, or one that is not absolute, leaves the user's own.

    Returns:
        Absolute paths of folders that are there, each once, whatever links lead to it.

    Raises:
        ValueError: If the agent is another.
    """
    if agent not in AGENTS:
        raise ValueError(f"the agent is {' or '.join(AGENTS)}, not {agent!r}")
    found: dict[str, None] = {}
    for folder in _candidates(agent, cwd):
        try:
            if os.path.isdir(folder):
                found.setdefault(os.path.realpath(folder))
        except (OSError, ValueError):
            continue
        if len(found) == MAX_FOLDERS:
            break
    return list(found)


def user_folder(agent: str) -> str:
    """The user's own folder of an agent: settings, and the skills below it."""
    variable, default = {
        "claude": ("CLAUDE_CONFIG_DIR", "~/.claude"),
        "codex": ("CODEX_HOME", "~/.codex"),
    }[agent]
    return os.environ.get(variable) or os.path.expanduser(default)


def _candidates(agent: str, cwd: str | None) -> Iterator[str]:
    names = (".claude/skills",) if agent == "claude" else (".agents/skills", ".codex/skills")
    if cwd and os.path.isabs(cwd) and "\0" not in cwd:
        for folder in _upwards(cwd):
            for name in names:
                yield os.path.join(folder, name)
    if agent == "codex":
        yield os.path.expanduser("~/.agents/skills")
    yield os.path.join(user_folder(agent), "skills")
    if agent == "codex":
        yield "/etc/codex/skills"


def _upwards(cwd: str) -> list[str]:
    """The working folder and those above it, up to the repository; alone when there is none.

    Outside a repository nothing above is looked at: ``/tmp/.claude/skills`` is anybody's.
    """
    folders: list[str] = []
    folder = os.path.normpath(cwd)
    while len(folders) < MAX_LEVELS:
        folders.append(folder)
        if os.path.exists(os.path.join(folder, ".git")):
            return folders
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return folders[:1]
