"""Where the plugins of Claude Code and Codex keep their skills. Standard library only.

What an agent installed is read from its own files; one that is not understood counts as empty.
"""
# ruff: noqa: PTH112, PTH113, PTH117, PTH118, PTH119, PTH123

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MAX_PLUGINS = 64
"""Most plugins that are looked at."""

_MAX_FILE = 4 << 20
_MANIFESTS = {"claude": ".claude-plugin", "codex": ".codex-plugin"}


def plugin_folders(agent: str, home: str, projects: Iterable[str]) -> list[tuple[str, str]]:
    """The folders of skills of an agent's enabled plugins.

    Claude Code notes what is installed in ``plugins/installed_plugins.json`` and what is enabled
    in ``enabledPlugins`` of its settings. Codex keeps plugins in ``plugins/cache`` and notes in
    ``config.toml`` which are enabled.

    Args:
        agent: "claude" or "codex".
        home: The user's folder of the agent.
        projects: Folders whose own settings count, the nearest first.

    Returns:
        Pairs of a folder and the plugin's name, which the names of its skills begin with.
    """
    near = list(projects)
    installed = _of_claude(home, near) if agent == "claude" else _of_codex(home)
    found: dict[tuple[str, str], None] = {}
    for number, (name, market, root) in enumerate(installed):
        if number == MAX_PLUGINS:
            break
        entry = _market_entry(home, market, name) if agent == "claude" else {}
        for folder in _skill_folders(root, agent, entry):
            found.setdefault((folder, _name(root, agent) or name))
    return list(found)


def _of_claude(home: str, projects: list[str]) -> Iterator[tuple[str, str, str]]:
    """Name, marketplace and folder of each enabled plugin."""
    known = _object(_read(os.path.join(home, "plugins", "installed_plugins.json")), "plugins")
    if not known:
        return
    enabled: dict[str, Any] = {}
    for folder in (home, *(os.path.join(each, ".claude") for each in reversed(projects))):
        for file in ("settings.json", "settings.local.json"):
            enabled.update(_object(_read(os.path.join(folder, file)), "enabledPlugins"))
    for key, noted in known.items():
        name, _, market = key.rpartition("@")
        if not name or not enabled.get(key):
            continue
        # Since version 2 a plugin may be installed several times: for the user, and for projects.
        entries = [each for each in _list(noted) if isinstance(each, dict)]
        here = [each for each in entries if each.get("projectPath") in projects]
        free = [each for each in entries if not each.get("projectPath")]
        for entry in (here or free)[:1]:
            if isinstance(entry.get("installPath"), str):
                yield name, market, entry["installPath"]


def _of_codex(home: str) -> Iterator[tuple[str, str, str]]:
    data = _bytes(os.path.join(home, "config.toml"))
    if b"plugins" not in data:
        return
    import tomllib

    try:
        config = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return
    for key, noted in _object(config, "plugins").items():
        name, _, market = key.rpartition("@")
        if not name or not isinstance(noted, dict) or noted.get("enabled") is False:
            continue
        if any(part in ("", ".", "..") or "/" in part for part in (name, market)):
            continue
        versions = os.path.join(home, "plugins", "cache", market, name)
        try:
            newest = max(
                (each for each in os.scandir(versions) if each.is_dir()),
                key=lambda each: (each.name == "local", each.stat().st_mtime),
                default=None,
            )
        except OSError:
            continue
        if newest is not None:
            yield name, market, newest.path


def _skill_folders(root: str, agent: str, entry: Mapping[str, Any]) -> Iterator[str]:
    """A plugin's folders of skills: ``skills``, and those its manifest names."""
    if not os.path.isabs(root):
        return
    # A marketplace that describes a plugin by itself names exactly the skills that belong to it.
    if entry.get("strict") is False and entry.get("skills"):
        named = _list(entry["skills"])
    else:
        manifest = _read(os.path.join(root, _MANIFESTS[agent], "plugin.json"))
        named = ["skills", *_list(manifest.get("skills"))]
    within = os.path.realpath(root)
    for path in named[:MAX_PLUGINS]:
        if not isinstance(path, str) or "\0" in path:
            continue
        folder = os.path.realpath(os.path.join(root, path))
        below = folder == within or folder.startswith(within.rstrip("/") + "/")
        if below and os.path.isdir(folder):
            yield folder


def _name(root: str, agent: str) -> str:
    name = _read(os.path.join(root, _MANIFESTS[agent], "plugin.json")).get("name")
    return name if isinstance(name, str) and len(name) <= 100 else ""


def _market_entry(home: str, market: str, name: str) -> Mapping[str, Any]:
    """What a marketplace says of a plugin."""
    known = _object(_read(os.path.join(home, "plugins", "known_marketplaces.json")), market)
    place = known.get("installLocation")
    if not isinstance(place, str):
        place = os.path.join(home, "plugins", "marketplaces", os.path.basename(market))
    listed = _read(os.path.join(place, ".claude-plugin", "marketplace.json")).get("plugins")
    for entry in _list(listed):
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry
    return {}


def _read(path: str) -> dict[str, Any]:
    try:
        value = json.loads(_bytes(path) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _bytes(path: str) -> bytes:
    """A regular file's bytes; b"" when there is none, or it is too large to be settings."""
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as stream:
            data = stream.read(_MAX_FILE + 1)
    except (OSError, ValueError):
        return b""
    return data if len(data) <= _MAX_FILE else b""


def _object(holder: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
