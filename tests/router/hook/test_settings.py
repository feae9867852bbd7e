"""The hook's entry in settings files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from router.cli import main
from router.hook.settings import (
    BACKUP_SUFFIX,
    SettingsError,
    hook_command,
    install,
    installed,
    settings_file,
    uninstall,
)

COMMAND = "/opt/bin/skill-router hook --agent claude"
ENTRY = {"type": "command", "command": COMMAND, "timeout": 15}
OTHER = {"type": "command", "command": "my-skill-router-hook hooked", "timeout": 3}


def test_install_is_idempotent_and_uninstall_gives_the_file_back(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    before = {
        "model": "opus",
        "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [OTHER]}],
            "UserPromptSubmit": [{"hooks": [OTHER]}],
        },
        "é": [1, 2.5, None],
    }
    text = json.dumps(before, indent=4, ensure_ascii=False)
    file.write_text(text)
    file.chmod(0o640)
    assert install(file, COMMAND) == "added"
    after = json.loads(file.read_text())
    assert after["hooks"]["UserPromptSubmit"] == [{"hooks": [OTHER]}, {"hooks": [ENTRY]}]
    assert file.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / f"settings.json{BACKUP_SUFFIX}").read_text() == text
    data = file.read_bytes()
    assert install(file, COMMAND) == "unchanged" and file.read_bytes() == data
    assert installed(file) == COMMAND
    assert uninstall(file) == "removed" and file.read_text() == text
    assert uninstall(file) == "absent"
    assert sorted(p.name for p in tmp_path.glob("*.json*")) == [
        "settings.json",
        f"settings.json{BACKUP_SUFFIX}",
    ]


def test_another_path_is_brought_up_to_date_and_its_own_fields_stay(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    old = {"type": "command", "command": "'/old venv/skill-router' hook", "timeout": 60}
    file.write_text(
        json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [old, OTHER]}, {"hooks": [old]}]}})
    )
    assert install(file, COMMAND) == "updated"
    groups = json.loads(file.read_text())["hooks"]["UserPromptSubmit"]
    assert groups == [{"hooks": [{**old, "command": COMMAND}, OTHER]}]


def test_a_missing_file_and_its_folder_are_made(tmp_path: Path) -> None:
    file = tmp_path / "new" / ".claude" / "settings.json"
    assert uninstall(file) == "absent"
    assert install(file, COMMAND) == "added"
    assert json.loads(file.read_text()) == {"hooks": {"UserPromptSubmit": [{"hooks": [ENTRY]}]}}
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    file = tmp_path / "settings.json"
    file.symlink_to(real)
    install(file, COMMAND)
    assert file.is_symlink() and "skill-router" in real.read_text()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{\n  "a": 1,\n}', ":3:1: is not JSON"),
        (b"// note\n{}", ":1:1: is not JSON"),
        (b"[]", "the file is not a JSON object"),
        (b'{"a": 1, "a": 2}', "a key occurs twice"),
        (b'{"a": NaN}', "NaN is no JSON"),
        (b"\xff\xfe{}", "cannot be used"),
        (b'{"hooks": []}', "hooks is not an object"),
        (b'{"hooks": {"UserPromptSubmit": {}}}', "hooks.UserPromptSubmit is not a list"),
        (b'{"hooks": {"UserPromptSubmit": [1]}}', "UserPromptSubmit[0] is not an object"),
        (b'{"hooks": {"UserPromptSubmit": [{"hooks": 1}]}}', "[0].hooks is not a list"),
        (b"[" * 100_000, "cannot be used"),
    ],
)
def test_a_file_that_is_not_understood_is_not_touched(
    tmp_path: Path, content: bytes, says: str
) -> None:
    file = tmp_path / "alone" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(content)
    for change in (lambda: install(file, COMMAND), lambda: uninstall(file)):
        with pytest.raises(SettingsError) as caught:
            change()
        assert says in str(caught.value) and str(file) in str(caught.value)
    assert file.read_bytes() == content and list(file.parent.iterdir()) == [file]


def test_a_number_that_json_cannot_write_back_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"a": 1e400}')
    with pytest.raises(SettingsError, match="a number is too large"):
        install(file, COMMAND)
    assert file.read_text() == '{"a": 1e400}'


def test_a_folder_in_the_files_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not a file"):
        install(tmp_path, COMMAND)


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text().filter(lambda key: key != "hooks"), _json, max_size=4))
def test_every_other_entry_is_kept(settings: dict[str, Any]) -> None:
    folder = Path(f"/tmp/skill-router-settings-{os.getpid()}")
    folder.mkdir(exist_ok=True)
    file = folder / "settings.json"
    file.write_text(json.dumps(settings))
    try:
        install(file, COMMAND)
        uninstall(file)
        assert json.loads(file.read_text()) == settings
    finally:
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()


def test_ten_installs_at_once_leave_one_entry(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    code = (
        "import sys; from pathlib import Path; from router.hook.settings import *\n"
        "try: install(Path(sys.argv[1]), 'skill-router hook --agent claude')\n"
        "except SettingsError as error: assert 'meanwhile' in str(error)"
    )
    many = [subprocess.Popen([sys.executable, "-c", code, str(file)]) for _ in range(10)]
    assert [each.wait() for each in many] == [0] * 10
    assert len(json.loads(file.read_text())["hooks"]["UserPromptSubmit"]) == 1


def test_the_commands(home: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["hook", *arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.output

    file = home / ".claude" / "settings.json"
    assert "installed" in run("install") and installed(file) == hook_command("claude", "user")
    assert "was installed already" in run("install")
    assert f"installed: {hook_command('claude', 'user')}" in run("status")
    assert "removed" in run("uninstall") and "was not installed" in run("uninstall")
    run("install", "--agent", "codex", "--scope", "project", "--project", str(tmp_path))
    assert installed(tmp_path / ".codex" / "hooks.json") == "skill-router hook --agent codex"
    assert "Codex has no local settings" in run("install", "--agent", "codex", "--scope", "local")
    assert "is no folder" in run("install", "--project", str(tmp_path / "none"))


def test_places_of_the_settings(home: Path, tmp_path: Path) -> None:
    assert settings_file("claude", "user", tmp_path) == home / ".claude/settings.json"
    assert settings_file("claude", "project", tmp_path) == tmp_path / ".claude/settings.json"
    assert settings_file("claude", "local", tmp_path) == tmp_path / ".claude/settings.local.json"
    assert settings_file("codex", "user", tmp_path) == home / ".codex/hooks.json"
