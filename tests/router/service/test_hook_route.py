"""Claude Code's `http` hooks post their JSON to the service themselves."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from roster import Roster
from router import Router, Thresholds, suggestion_block
from router.service import hook_route
from tests.router.service.running import Running, WordJudge, running, write_skill

KITE = "mend the torn kite"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "user"))
    monkeypatch.setattr(hook_route, "ROSTER_WAIT_S", 20)
    folder = tmp_path / "project"
    write_skill(folder / ".claude" / "skills", "kite-repair", "Mend torn kite sails.")
    write_skill(tmp_path / "user" / "skills", "bread-bake", "Bake sourdough bread.")
    (folder / ".git").mkdir()
    return folder


@pytest.fixture(params=["tcp", "unix"])
def hooked(
    request: pytest.FixtureRequest, project: Path, skills: Path, short: Path
) -> Iterator[Running]:
    unix = {"socket": short / "s"}
    limits = unix if request.param == "unix" else {"allowed_roots": (project.parent,)}
    with running(skills, **limits) as service:
        yield service


def submit(service: Running, cwd: Path, prompt: object = KITE, **more: object) -> object:
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
        "cwd": str(cwd),
        "session_id": "s-1",
        "permission_mode": "default",
        **more,
    }
    answer = service.post(payload, "/v1/hook")
    assert answer.status_code in (200, 204), answer.text
    return answer.json() if answer.content else None


def context(name: str) -> dict[str, object]:
    said = {
        "hookEventName": "UserPromptSubmit",
        "additionalContext": suggestion_block(name).strip(),
    }
    return {"hookSpecificOutput": said}


def test_skills_of_project_and_user_are_suggested(hooked: Running, project: Path) -> None:
    assert submit(hooked, project) == context("kite-repair")
    assert submit(hooked, project / "src" / "deep") == context("kite-repair")
    assert submit(hooked, project, "bake sourdough bread") == context("bread-bake")


@pytest.mark.parametrize("prompt", ["thanks", "", "/review mend torn kite", None, 5])
def test_nothing_to_say_has_no_body(hooked: Running, project: Path, prompt: object) -> None:
    assert submit(hooked, project, prompt) is None


def test_a_loaded_skill_is_not_suggested_again(hooked: Running, project: Path) -> None:
    transcript = project / "t.jsonl"
    loading = {"type": "tool_use", "name": "Skill", "input": {"skill": "kite-repair"}}
    line = {"type": "assistant", "message": {"role": "assistant", "content": [loading]}}
    transcript.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert submit(hooked, project, transcript_path=str(transcript)) is None
    assert submit(hooked, project) == context("kite-repair")


def test_what_tcp_clients_may_not_name_is_not_read(
    project: Path, skills: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    transcript = elsewhere / "t.jsonl"
    loading = {"type": "tool_use", "name": "Skill", "input": {"skill": "kite-repair"}}
    line = {"type": "assistant", "message": {"role": "assistant", "content": [loading]}}
    transcript.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with running(skills, allowed_roots=(project,)) as service:
        # The user's folder lies outside: only the project's skills count.
        assert submit(service, project, "bake sourdough bread") is None
        assert submit(service, project, transcript_path=str(transcript)) == context("kite-repair")
    with running(skills, allowed_roots=(elsewhere,)) as service:
        payload = {"prompt": KITE, "cwd": str(project)}
        refused = service.post(payload, "/v1/hook")
        assert refused.status_code == 403 and "--allow-roster" in refused.text


def test_while_the_roster_is_indexed_nothing_is_said(
    project: Path, skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = threading.Event()

    def slow(roster: Roster) -> Router:
        ready.wait(20)
        return Router(roster, WordJudge(threading.Event()), Thresholds())

    with running(skills, make=slow, allowed_roots=(project.parent,)) as service:
        monkeypatch.setattr(hook_route, "ROSTER_WAIT_S", 0.05)
        assert submit(service, project) is None
        ready.set()
        monkeypatch.setattr(hook_route, "ROSTER_WAIT_S", 20)
        assert submit(service, project) == context("kite-repair")
