"""The agents' settings files, into which the hook is installed."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from eval.fuzz.generate import Random, dumped, record, text, value
from eval.fuzz.target import Target, clean, require
from router.hook.settings import SettingsError, install, installed, uninstall

_COMMAND = "/usr/bin/skill-router hook --agent claude"
_SEEDS = (
    b'{\n  "model": "x",\n  "hooks": {\n    "UserPromptSubmit": [{"hooks": [{"type": "command", '
    b'"command": "echo hi"}]}],\n    "Stop": []\n  }\n}\n',
    b'{"hooks": {"UserPromptSubmit": [{"matcher": "", "hooks": [{"type": "command", '
    b'"command": "/old/skill-router hook"}, {"type": "command", "command": "b"}]}]}}',
)
_KEYS = ("hooks", "UserPromptSubmit", "command", "type", "matcher", "timeout", "model")


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    file = place / "settings.json"

    def feed(data: bytes) -> bool:
        file.write_bytes(data)
        try:
            installed(file)
            install(file, _COMMAND)
        except SettingsError as error:
            require(file.read_bytes() == data, "a settings file that was refused and changed")
            return clean(error, file.name)
        require(installed(file) == _COMMAND, "a hook that is not found after it was installed")
        require(install(file, _COMMAND) == "unchanged", "an install that is not idempotent")
        before, after = _others(data), _others(file.read_bytes())
        require(before == after, "an install that changed other entries")
        uninstall(file)
        require(installed(file) is None, "a hook that is found after it was taken out")
        require(_others(file.read_bytes()) == before, "an uninstall that changed other entries")
        leftovers = [p.name for p in place.iterdir() if p.suffix not in (".json", "")]
        require(
            all(name.endswith("backup") for name in leftovers), f"files left behind: {leftovers}"
        )
        return True

    return [Target("agent-settings", 2, _SEEDS, _build, feed)]


def _build(random: Random) -> bytes:
    handler = {
        "type": lambda r: "command",
        "command": lambda r: r.choice(("echo", _COMMAND, "skill-router hook", text(r))),
        "timeout": lambda r: r.choice((1, 10**20)),
    }
    group = {
        "hooks": lambda r: [record(r, handler, _KEYS) for _ in range(r.randrange(3))],
        "matcher": text,
    }
    event = {"UserPromptSubmit": lambda r: [record(r, group, _KEYS) for _ in range(r.randrange(3))]}
    settings = {
        "hooks": lambda r: record(r, event, _KEYS),
        "model": text,
        "env": lambda r: value(r, _KEYS),
    }
    return dumped(random, record(random, settings, _KEYS))


def _others(data: bytes) -> object:
    """Everything in a settings file that is not the hook's, without empty shells."""
    settings = json.loads(data.decode("utf-8-sig")) if data.strip() else {}
    hooks = settings.get("hooks", {})
    groups = [
        {**group, "hooks": [h for h in group["hooks"] if not _is_ours(h)]}
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        else group
        for group in hooks.get("UserPromptSubmit", [])
    ]
    kept = [g for g in groups if not (isinstance(g, dict) and g.get("hooks") == [])]
    rest = {name: entry for name, entry in hooks.items() if name != "UserPromptSubmit"}
    return [{k: v for k, v in settings.items() if k != "hooks"}, rest, kept]


def _is_ours(handler: object) -> bool:
    return isinstance(handler, dict) and "skill-router" in str(handler.get("command", ""))
