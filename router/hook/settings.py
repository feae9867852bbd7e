"""The hook's entry in an agent's settings file: put in, taken out, everything else kept."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from router.errors import RouterError
from router.hook.places import user_folder

Agent = Literal["claude", "codex"]
Scope = Literal["user", "project", "local"]
Outcome = Literal["added", "updated", "unchanged", "removed", "absent"]

EVENT = "UserPromptSubmit"
TIMEOUT = 15
"""Seconds the agent gives the hook; it ends by itself well before that."""

BACKUP_SUFFIX = ".skill-router-backup"
_MAX_FILE = 4 << 20
_SURROGATE = re.compile("[\ud800-\udfff]")
_OURS = re.compile(
    r"(?:^|[\s/\\'\"])skill-router(?:\.exe)?['\"]? hook(?:\s|$)|-m router\.start hook"
)


class SettingsError(RouterError):
    """A settings file cannot be read or changed; nothing was written."""


def settings_file(agent: Agent, scope: Scope, project: Path) -> Path:
    """The settings file of an agent.

    Args:
        agent: "claude" or "codex".
        scope: "user"; "project", which is shared with everyone who works on it; "local", which is
            this machine's own (Claude Code alone).
        project: The project's folder.

    Raises:
        SettingsError: If the agent has no such scope.
    """
    if agent == "claude":
        name = "settings.local.json" if scope == "local" else "settings.json"
        return (Path(user_folder(agent)) if scope == "user" else project / ".claude") / name
    if scope == "local":
        raise SettingsError("Codex has no local settings; use --scope user or --scope project")
    return (Path(user_folder(agent)) if scope == "user" else project / ".codex") / "hooks.json"


def hook_command(agent: Agent, scope: Scope) -> str:
    """The command line for the settings.

    A project's file is shared, so it names the command alone; the others name it with its path,
    since an agent need not be started with the environment's PATH.
    """
    if scope == "project":
        return f"skill-router hook --agent {agent}"
    beside = Path(sys.executable).parent / "skill-router"
    found = str(beside) if beside.is_file() else shutil.which("skill-router")
    start = shlex.quote(found) if found else f"{shlex.quote(sys.executable)} -m router.start"
    return f"{start} hook --agent {agent}"


def install(file: Path, command: str) -> Outcome:
    """Put the hook into a settings file, once.

    Args:
        file: The settings file; made when it is missing. A link is followed and stays one.
        command: The hook's command line.

    Returns:
        "added", "updated" (it was there with another command line) or "unchanged".

    Raises:
        SettingsError: If the file is no JSON object, has another shape than the agent's settings,
            or cannot be written. It then is as it was.
    """
    return _edit(file, lambda settings: _put(settings, command))


def uninstall(file: Path) -> Outcome:
    """Take the hook out of a settings file.

    Args:
        file: The settings file.

    Returns:
        "removed" or "absent".

    Raises:
        SettingsError: As `install`.
    """
    return _edit(file, _take) if file.exists() else "absent"


def installed(file: Path) -> str | None:
    """The command line of the hook in a settings file, or None.

    Raises:
        SettingsError: If the file is not to be understood.
    """
    settings, _ = _read(file)
    for _, handler in _ours(_groups(settings, file)):
        return str(handler["command"])
    return None


def _put(settings: dict[str, Any], command: str) -> Outcome:
    entry = {"type": "command", "command": command, "timeout": TIMEOUT}
    groups = settings.setdefault("hooks", {}).setdefault(EVENT, [])
    there = list(_ours(groups))
    if not there:
        groups.append({"hooks": [entry]})
        return "added"
    first = there[0][1]
    for group, handler in there[1:]:
        _remove(group, handler)
    _drop_empty(settings, len(there) > 1)
    if len(there) == 1 and first.get("command") == command and first.get("type") == "command":
        return "unchanged"
    first.update(type="command", command=command)
    return "updated"


def _take(settings: dict[str, Any]) -> Outcome:
    there = list(_ours(settings.get("hooks", {}).get(EVENT, [])))
    for group, handler in there:
        _remove(group, handler)
    _drop_empty(settings, bool(there))
    return "removed" if there else "absent"


def _remove(group: dict[str, Any], handler: dict[str, Any]) -> None:
    # This very entry, not the first one that reads the same.
    group["hooks"] = [other for other in group["hooks"] if other is not handler]


def _drop_empty(settings: dict[str, Any], removed: bool) -> None:
    """Leave no empty shells behind where handlers were taken out."""
    if not removed:
        return
    hooks = settings["hooks"]
    hooks[EVENT] = [group for group in hooks[EVENT] if group.get("hooks") != []]
    if not hooks[EVENT]:
        del hooks[EVENT]
    if not hooks:
        del settings["hooks"]


def _ours(groups: list[Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        (group, handler)
        for group in groups
        for handler in group.get("hooks", [])
        if isinstance(handler, dict) and _OURS.search(str(handler.get("command", "")))
    ]


def _groups(settings: dict[str, Any], file: Path) -> list[Any]:
    """The groups of the event, their shape checked all the way down."""
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise _misshapen(file, "hooks", "an object")
    groups = hooks.get(EVENT, [])
    if not isinstance(groups, list):
        raise _misshapen(file, f"hooks.{EVENT}", "a list")
    for number, group in enumerate(groups):
        if not isinstance(group, dict):
            raise _misshapen(file, f"hooks.{EVENT}[{number}]", "an object")
        if not isinstance(group.get("hooks", []), list):
            raise _misshapen(file, f"hooks.{EVENT}[{number}].hooks", "a list")
    return groups


def _misshapen(file: Path, field: str, kind: str) -> SettingsError:
    return SettingsError(f"{file}: {field} is not {kind}; mend it by hand, nothing was changed")


def _read(file: Path) -> tuple[dict[str, Any], bytes | None]:
    """The settings and the exact bytes they were read from; None when there is no file."""
    try:
        if not file.is_file():
            if file.exists():
                raise SettingsError(f"{file}: is not a file; move it away")
            return {}, None
        with file.open("rb") as stream:
            data = stream.read(_MAX_FILE + 1)
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read ({error.strerror}); check its mode") from error
    if len(data) > _MAX_FILE:
        raise SettingsError(f"{file}: is larger than {_MAX_FILE} bytes; that is no settings file")
    if not data.strip():
        return {}, data
    try:
        settings = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_distinct, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        raise SettingsError(
            f"{file}:{error.lineno}:{error.colno}: is not JSON: {error.msg}; mend it by hand, "
            "nothing was changed"
        ) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise SettingsError(
            f"{file}: cannot be used ({error}); mend it by hand, nothing was changed"
        ) from error
    if not isinstance(settings, dict):
        raise _misshapen(file, "the file", "a JSON object")
    return settings, data


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice, and only one of the two would be kept")
    return made


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _edit(file: Path, change: Callable[[dict[str, Any]], Outcome]) -> Outcome:
    settings, before = _read(file)
    _groups(settings, file)
    outcome = change(settings)
    if outcome in ("unchanged", "absent"):
        return outcome
    try:
        text = _written(settings, _indent(before))
    except ValueError as error:
        raise SettingsError(
            f"{file}: a number is too large to be kept ({error}); nothing was changed"
        ) from error
    if before is None or before.endswith(b"\n") or not before.strip():
        text += "\n"
    try:
        _replace(Path(os.path.realpath(file)), text.encode("utf-8"), before)
    except OSError as error:
        raise SettingsError(
            f"{file}: cannot be written ({error.strerror}); check the folder's mode"
        ) from error
    return outcome


def _written(settings: dict[str, Any], indent: int | str) -> str:
    text = json.dumps(settings, indent=indent, ensure_ascii=False, allow_nan=False)
    if _SURROGATE.search(text):
        # An escaped half of a character has no UTF-8: it stays the escape it was.
        text = json.dumps(settings, indent=indent, ensure_ascii=True, allow_nan=False)
    return text


def _indent(before: bytes | None) -> int | str:
    found = re.search(rb"\{\r?\n([ \t]+)", before or b"")
    if not found:
        return 2
    space = found.group(1).decode()
    return space if "\t" in space else len(space)


def _replace(file: Path, data: bytes, before: bytes | None) -> None:
    """Write beside the file and move into its place; keep a copy of what was there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = file.stat().st_mode & 0o777 if before is not None else 0o600
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        new.chmod(mode)
        if before is not None:
            shutil.copy2(file, file.with_name(file.name + BACKUP_SUFFIX))
        now = file.read_bytes() if file.exists() else None
        if now != before:
            raise SettingsError(f"{file}: was changed meanwhile; run the command again")
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
