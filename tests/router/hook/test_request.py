"""From an agent's JSON and transcript to what the router is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.hook.places import skill_folders
from router.hook.reply import MAX_CONTEXT, hook_reply
from router.hook.request import parse_payload, suggest_request
from router.hook.transcript import MAX_BYTES, read_tail

Write = Callable[..., Path]


def lines(path: Path, *entries: Any) -> str:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


def claude(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}, **more}


def codex(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": "response_item", "payload": payload}


def use(name: str, **given: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": "c", "name": name, "input": given}]


def test_skills_are_found_nearest_first_up_to_the_repository(
    tmp_path: Path, home: Path, write: Write
) -> None:
    outside = write(".claude/skills", "outside")
    root = write("repo/.claude/skills", "shared")
    near = write("repo/a/b/.claude/skills", "near")
    mine = write("home/.claude/skills", "mine")
    (tmp_path / "repo" / ".git").mkdir()
    found = skill_folders("claude", str(tmp_path / "repo" / "a" / "b"))
    assert found == [str(near), str(root), str(mine)]
    assert str(outside) not in found


def test_outside_a_repository_nothing_above_counts(tmp_path: Path, write: Write) -> None:
    write(".claude/skills", "anybodys")
    (tmp_path / "work").mkdir()
    assert skill_folders("claude", str(tmp_path / "work")) == []


def test_codex_has_its_own_places(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    near = write("repo/.agents/skills", "near")
    mine = write("home/.agents/skills", "mine")
    older = write("elsewhere/skills", "older")
    write("repo/.claude/skills", "other")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert skill_folders("codex", str(tmp_path / "repo")) == [str(near), str(mine), str(older)]


@pytest.mark.parametrize("cwd", [None, "", "relative", "/\0", "/nowhere/at/all"])
def test_a_useless_working_folder_leaves_the_users_skills(write: Write, cwd: str | None) -> None:
    mine = write("home/.claude/skills", "mine")
    assert skill_folders("claude", cwd) == [str(mine)]


@pytest.mark.parametrize(
    ("prompt", "asks"),
    [
        ("mend my kite", True),
        ("/usr/local/bin is missing", True),
        ("/ is full", True),
        ("what does /review do?", True),
        ("/review the diff", False),
        ("  /compact", False),
        ("/plugin:run-it now", False),
        ("", False),
        (" \n", False),
        (7, False),
        (None, False),
    ],
)
def test_commands_and_empty_prompts_are_left_alone(write: Write, prompt: Any, asks: bool) -> None:
    write("home/.claude/skills", "mine")
    assert (suggest_request({"prompt": prompt}) is not None) == asks


def test_other_events_and_a_machine_without_skills_ask_nothing(write: Write) -> None:
    assert suggest_request({"prompt": "mend my kite"}) is None
    write("home/.claude/skills", "mine")
    assert suggest_request({"prompt": "x", "hook_event_name": "PreToolUse"}) is None


def test_the_transcript_of_claude_code_gives_context_and_loads(
    tmp_path: Path, write: Write
) -> None:
    folder = write("home/.claude/skills", "mine")
    path = lines(
        tmp_path / "t.jsonl",
        {"type": "summary", "summary": "x"},
        claude("user", "first <system-reminder>secret</system-reminder>words"),
        claude("assistant", use("Skill", skill="kite-repair")),
        claude("user", [{"type": "tool_result", "tool_use_id": "c", "content": "long output"}]),
        claude("assistant", [{"type": "text", "text": "an answer"}]),
        claude("assistant", use("Read", file_path="/x/skills/bread-bake/SKILL.md")),
        claude("user", "<command-name>/deploy</command-name>"),
        claude("user", "meta", isMeta=True),
        claude("assistant", "aside", isSidechain=True),
        "no object",
        claude("user", "mend my kite"),
    )
    payload = {
        "prompt": "mend my kite",
        "transcript_path": path,
        "session_id": "s",
        "hook_event_name": "UserPromptSubmit",
        "permission_mode": "default",
    }
    assert suggest_request(payload) == {
        "request": "mend my kite",
        "recent_context": ["first words", "an answer"],
        "loaded": ["kite-repair", "bread-bake", "deploy"],
        "roster": [str(folder)],
        "session": "s",
    }


def test_the_transcript_of_codex_gives_context_and_loads(tmp_path: Path, write: Write) -> None:
    write("home/.agents/skills", "mine")
    arguments = json.dumps({"cmd": 'cat "/home/u/.agents/skills/kite-repair/SKILL.md"'})
    path = lines(
        tmp_path / "rollout-1.jsonl",
        codex(type="message", role="user", content=[{"type": "input_text", "text": "first"}]),
        codex(type="function_call", name="shell", arguments=arguments),
        codex(
            type="message",
            role="user",
            content=[{"type": "input_text", "text": "<skill><name>bread-bake</name> text</skill>"}],
        ),
        codex(type="message", role="assistant", content=[{"type": "output_text", "text": "ok"}]),
        codex(type="message", role="developer", content=[{"type": "input_text", "text": "no"}]),
    )
    request = suggest_request({"prompt": "use $deploy and 5$ now", "transcript_path": path})
    assert request is not None
    assert request["recent_context"] == ["first", "ok"]
    assert request["loaded"] == ["kite-repair", "bread-bake", "deploy"]


def test_only_the_end_of_a_large_transcript_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    early = json.dumps(claude("assistant", use("Skill", skill="early")))
    noise = json.dumps(claude("user", [{"type": "tool_result", "content": "x" * 1000}]))
    late = json.dumps(claude("user", "the last words"))
    with path.open("w") as stream:
        stream.write(early + "\n")
        for _ in range(60_000):
            stream.write(noise + "\n")
        stream.write(late + "\n")
    assert path.stat().st_size > 50 * MAX_BYTES
    started = process_time()
    tail = read_tail(str(path))
    assert tail.messages == ("the last words",) and tail.loaded == ()
    assert process_time() - started < 1.0  # a busy machine does not count


def test_what_is_no_transcript_gives_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    binary = tmp_path / "b"
    binary.write_bytes(os.urandom(5000))
    for path in (str(pipe), str(tmp_path), str(binary), "/dev/zero", "/nowhere", "a\0b", ""):
        assert read_tail(path).messages == ()


@pytest.mark.parametrize(
    "line",
    [
        "<system-reminder>" * 10_000,
        "a/SKILL.md " * 20_000,
        "<command-name>/x</command-name>" * 5_000,
    ],
)
def test_hostile_lines_take_no_time(tmp_path: Path, line: str) -> None:
    entry = claude("user", line)
    call = claude("assistant", use("Read", file_path=line))
    path = lines(tmp_path / "t.jsonl", *[entry, call] * 3)
    started = process_time()
    read_tail(path)
    assert process_time() - started < 1.0  # a busy machine does not count


@given(st.binary(max_size=200))
def test_no_bytes_upset_the_transcript(data: bytes) -> None:
    path = Path(f"/tmp/skill-router-test-{os.getpid()}.jsonl")
    path.write_bytes(data + b'\n{"type":"user","message":{"content":[{"type":"text"}]}}\n')
    try:
        read_tail(str(path))
    finally:
        path.unlink()


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
_keys = st.sampled_from(["prompt", "cwd", "session_id", "transcript_path", "hook_event_name"])


@given(st.dictionaries(_keys, _json))
def test_no_payload_upsets_the_hook(payload: dict[str, Any]) -> None:
    request = suggest_request(payload, roster="/tmp")
    assert request is None or json.loads(json.dumps(request)) == request


def test_payloads_that_are_none() -> None:
    for data in (b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000):
        assert parse_payload(data) is None
    assert parse_payload(b'\xef\xbb\xbf{"prompt": "x"}') == {"prompt": "x"}


def test_the_reply_is_a_short_context_or_nothing() -> None:
    assert hook_reply({"name": "x", "block": "\n\n<b>x</b>"}) == {
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": "<b>x</b>",
        }
    }
    silent: list[Any] = [
        None,
        {},
        {"name": None, "block": "none fits"},
        {"name": "x", "block": ""},
        {"name": "x", "block": None},
        {"name": "x", "block": "y" * (MAX_CONTEXT + 1)},
    ]
    assert [hook_reply(answer) for answer in silent] == [None] * len(silent)
