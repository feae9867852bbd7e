"""Skills of the agents' plugins: where they are found and how they are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.layers import Layer, layered
from router.hook.places import skill_layers
from router.hook.plugins import plugin_folders
from router.hook.request import suggest_request

Write = Callable[..., Path]


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def install(home: Path, key: str, root: Path, **more: Any) -> dict[str, Any]:
    """Note a plugin as installed, the way Claude Code does since version 2 of the file."""
    file = home / ".claude" / "plugins" / "installed_plugins.json"
    noted = json.loads(file.read_text()) if file.exists() else {"version": 2, "plugins": {}}
    entry = {"scope": "user", "installPath": str(root), "version": "1.0.0", **more}
    noted["plugins"].setdefault(key, []).append(entry)
    put(file, noted)
    return entry


def enable(folder: Path, **plugins: bool) -> None:
    put(
        folder / "settings.json", {"enabledPlugins": {k + "@market": v for k, v in plugins.items()}}
    )


@pytest.fixture
def kites(home: Path, write: Write) -> Path:
    """A plugin with two skills, installed and enabled."""
    folder = write("home/.claude/plugins/cache/market/kites/1.0.0/skills", "mend")
    write("home/.claude/plugins/cache/market/kites/1.0.0/skills", "fly")
    install(home, "kites@market", folder.parent)
    enable(home / ".claude", kites=True)
    return folder


def test_skills_of_an_enabled_plugin_come_last_under_the_plugins_name(
    tmp_path: Path, write: Write, kites: Path
) -> None:
    mine = write("home/.claude/skills", "mend")
    near = write("work/.claude/skills", "near")
    asked = suggest_request({"prompt": "mend my kite", "cwd": str(tmp_path / "work")})
    assert asked is not None
    assert asked["roster"] == [
        str(near),
        str(mine),
        {"path": str(kites), "prefix": "kites"},
    ]


def test_plugin_skills_are_named_by_their_folder(kites: Path) -> None:
    (kites / "fly" / "SKILL.md").write_text("---\nname: Flying Kites\ndescription: Fly.\n---\nx\n")
    assert layered([Layer(str(kites), "kites")]).names == ("kites:fly", "kites:mend")


def test_a_disabled_or_unknown_plugin_is_left_out(home: Path, kites: Path) -> None:
    for wanted in ({}, {"enabledPlugins": {"kites@market": False}}, {"enabledPlugins": []}):
        put(home / ".claude" / "settings.json", wanted)
        assert skill_layers("claude", None) == []


def test_the_nearest_settings_decide_and_a_projects_plugin_is_the_projects(
    tmp_path: Path, home: Path, kites: Path
) -> None:
    work = tmp_path / "work"
    put(work / ".claude" / "settings.local.json", {"enabledPlugins": {"kites@market": False}})
    assert skill_layers("claude", str(work)) == [] and skill_layers("claude", None) != []
    install(home, "other@market", kites.parent, scope="project", projectPath=str(work))
    enable(work / ".claude", other=True)
    assert skill_layers("claude", str(work)) == [{"path": str(kites), "prefix": "other"}]
    put(home / ".claude" / "settings.json", {"enabledPlugins": {"other@market": True}})
    assert skill_layers("claude", str(tmp_path)) == []


def test_the_first_form_of_the_file_is_read_too(home: Path, kites: Path) -> None:
    entry = {"version": "1", "installPath": str(kites.parent)}
    put(
        home / ".claude/plugins/installed_plugins.json",
        {"version": 1, "plugins": {"kites@market": entry}},
    )
    assert skill_layers("claude", None) == [{"path": str(kites), "prefix": "kites"}]


def test_a_manifest_adds_folders_but_none_outside_the_plugin(
    tmp_path: Path, home: Path, kites: Path, write: Write
) -> None:
    root = kites.parent
    more = write("home/.claude/plugins/cache/market/kites/1.0.0/more", "reel")
    outside = write("elsewhere", "secret")
    (root / "link").symlink_to(outside)
    skills = ["./more", "../../../../../../elsewhere", "./link", str(outside), "./none", 7, "a\0b"]
    put(root / ".claude-plugin" / "plugin.json", {"name": "kite-club", "skills": skills})
    assert skill_layers("claude", None) == [
        {"path": str(kites), "prefix": "kite-club"},
        {"path": str(more), "prefix": "kite-club"},
    ]


def test_a_marketplace_that_lists_a_plugins_skills_is_obeyed(home: Path, kites: Path) -> None:
    entry = {"name": "kites", "source": "./", "strict": False, "skills": ["./skills/mend"]}
    put(
        home / ".claude/plugins/marketplaces/market/.claude-plugin/marketplace.json",
        {"plugins": [{"name": "other"}, entry]},
    )
    (layer,) = skill_layers("claude", None)
    assert layer == {"path": str(kites / "mend"), "prefix": "kites"}
    assert layered([Layer(**layer)]).names == ("kites:mend",)


def test_reading_a_plugins_skill_loads_it(tmp_path: Path, kites: Path) -> None:
    use = {"type": "tool_use", "name": "Read", "input": {"file_path": f"{kites}/mend/SKILL.md"}}
    put(tmp_path / "t.jsonl", {"type": "assistant", "message": {"content": [use]}})
    asked = suggest_request({"prompt": "x", "transcript_path": str(tmp_path / "t.jsonl")})
    assert asked is not None and asked["loaded"] == ["mend", "kites:mend"]


def test_plugins_of_codex(home: Path, write: Write) -> None:
    place = "home/.codex/plugins/cache/market"
    skills = write(f"{place}/kites/1.2.0/skills", "mend")
    write(f"{place}/bread/local/skills", "bake")
    put(
        home / ".codex" / "config.toml",
        '[plugins."kites@market"]\nenabled = true\n[plugins."bread@market"]\nenabled = false\n'
        '[plugins."../x@market"]\nenabled = true\n',
    )
    assert skill_layers("codex", None) == [{"path": str(skills), "prefix": "kites"}]
    put(home / ".codex" / "config.toml", "[plugins\n")
    assert skill_layers("codex", None) == []


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("kites@market"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["plugins", "kites@market", "installPath", "enabledPlugins", "skills"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=30)
@given(_json, _json, _json)
def test_no_settings_upset_the_search(
    tmp_path_factory: pytest.TempPathFactory, noted: Any, wanted: Any, manifest: Any
) -> None:
    home = tmp_path_factory.mktemp("home")
    put(home / "plugins" / "installed_plugins.json", noted)
    put(home / "settings.json", wanted)
    put(home / ".claude-plugin" / "plugin.json", manifest)
    assert isinstance(plugin_folders("claude", str(home), [str(home)]), list)
