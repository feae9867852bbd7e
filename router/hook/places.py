"""Where Claude Code and Codex look for skills. Standard library only."""
# ruff: noqa: PTH110, PTH111, PTH112, PTH117, PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from router.hook.plugins import plugin_folders

AGENTS = ("claude", "codex")
"""Agents whose skills are found."""

MAX_LEVELS = 24
"""Folders from the working folder upwards that are looked at."""

MAX_FOLDERS = 128
"""Most folders of skills that are used, the nearest ones."""


def skill_folders(agent: str, cwd: str | None, project: str | None = None) -> list[str]:
    """The folders of skills that an agent uses in a working folder, the nearest first.

    Claude Code: ``.claude/skills`` in the working folder and in each folder above it up to the
    root of the repository, the same from the folder it was started in, then ``skills`` in the
    user's folder (`CLAUDE_CONFIG_DIR`, else ``~/.claude``). Codex: ``.agents/skills`` and
    ``.codex/skills`` on the same way, then ``~/.agents/skills``, ``skills`` in `CODEX_HOME` (else
    ``~/.codex``), and at last ``/etc/codex/skills``.

    Args:
        agent: "claude" or "codex".
        cwd: The working folder; None, or one that is not absolute, leaves the user's own.
        project: The folder the agent was started in, when that is known and may be another.

    Returns:
        Absolute paths of folders that are there, each once, whatever links lead to it.

    Raises:
        ValueError: If the agent is another.
    """
    if agent not in AGENTS:
        raise ValueError(f"the agent is {' or '.join(AGENTS)}, not {agent!r}")
    found: dict[str, None] = {}
    for folder in _candidates(agent, cwd, project):
        try:
            if os.path.isdir(folder):
                found.setdefault(os.path.realpath(folder))
        except (OSError, ValueError):
            continue
        if len(found) == MAX_FOLDERS:
            break
    return list(found)


def skill_layers(agent: str, cwd: str | None, project: str | None = None) -> list[Any]:
    """`skill_folders`, and behind them those of the agent's plugins, as `/v1/suggest` takes them.

    Args:
        agent: "claude" or "codex".
        cwd: The working folder, or None.
        project: The folder the agent was started in, or None.

    Returns:
        A path for each folder of the user's or the project's own; ``{"path", "prefix"}`` for each
        folder of a plugin, whose skills are named ``plugin:skill``.
    """
    layers: list[Any] = list(skill_folders(agent, cwd, project))
    plugins = plugin_folders(agent, user_folder(agent), _projects(cwd, project))
    layers += [{"path": path, "prefix": prefix} for path, prefix in plugins]
    return layers[:MAX_FOLDERS]


def layer_paths(layers: Sequence[Any]) -> list[str]:
    """The folders of `skill_layers`."""
    return [layer if isinstance(layer, str) else layer["path"] for layer in layers]


def user_folder(agent: str) -> str:
    """The user's own folder of an agent: settings, and the skills below it."""
    variable, default = {
        "claude": ("CLAUDE_CONFIG_DIR", "~/.claude"),
        "codex": ("CODEX_HOME", "~/.codex"),
    }[agent]
    return os.environ.get(variable) or os.path.expanduser(default)


def _candidates(agent: str, cwd: str | None, project: str | None) -> Iterator[str]:
    names = (".claude/skills",) if agent == "claude" else (".agents/skills", ".codex/skills")
    for folder in _projects(cwd, project):
        for name in names:
            yield os.path.join(folder, name)
    if agent == "codex":
        yield os.path.expanduser("~/.agents/skills")
    yield os.path.join(user_folder(agent), "skills")
    if agent == "codex":
        yield "/etc/codex/skills"


def _projects(*starts: str | None) -> list[str]:
    """The folders given and those above them, each up to its repository."""
    found: dict[str, None] = {}
    for start in starts:
        if start and os.path.isabs(start) and "\0" not in start:
            found.update(dict.fromkeys(_upwards(start)))
    return list(found)


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
