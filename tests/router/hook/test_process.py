"""`skill-router hook` as an agent runs it: a process, its stdin, its stdout, its exit code."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pytest

from router import suggestion_block
from router.hook.indexing import index_in_background, is_indexing
from router.hook.request import suggest_request
from router.hook.run import PATIENCE
from router.service.client import ask, ensure_running, is_running
from router.service.place import runtime_folder, socket_path

Write = Callable[..., Path]
ROOT = Path(__file__).parents[3]
BUNDLED = ROOT / "roster" / "bundled"
DECK = "Turn the outline in talk.md into a new slide deck with our template."


def hook(
    payload: Any, *arguments: str, code: int = 0
) -> tuple[str, subprocess.CompletedProcess[bytes]]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = subprocess.run(
        [sys.executable, "-m", "router.start", "hook", *arguments],
        input=data,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    return done.stdout.decode(), done


class FakeService:
    """Answers /v1/suggest with what a test decides and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer: dict[str, Any] = {}
        self.status = 200
        self.delay = threading.Event()
        self.delay.set()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    fake = FakeService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            fake.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            fake.delay.wait(20)
            self._send(fake.answer)

        def do_GET(self) -> None:
            self._send({"status": "ok"})

        def _send(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(fake.status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    monkeypatch.setenv("SKILL_ROUTER_SERVICE", f"http://127.0.0.1:{listener.server_port}")
    yield fake
    fake.delay.set()
    listener.shutdown()
    listener.server_close()


def test_what_the_service_suggests_is_printed(service: FakeService, write: Write) -> None:
    folder = write("home/.claude/skills", "pptx-author")
    service.answer = {"name": "pptx-author", "block": suggestion_block("pptx-author")}
    out, _ = hook({"prompt": DECK, "cwd": "/", "session_id": "s"})
    assert json.loads(out) == {
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": suggestion_block("pptx-author").strip(),
        }
    }
    (asked,) = service.asked
    assert asked["request"] == DECK and asked["roster"] == [str(folder)]


@pytest.mark.parametrize(
    "answer",
    [{"name": None, "block": suggestion_block(None)}, {}, {"name": "x", "block": "y" * 10_001}],
)
def test_with_nothing_to_say_nothing_is_printed(
    service: FakeService, write: Write, answer: dict[str, Any]
) -> None:
    write("home/.claude/skills", "pptx-author")
    service.answer = answer
    assert hook({"prompt": DECK})[0] == ""
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"\xff" * 100, {"prompt": "/review"}, {"prompt": 7}, b"{" * (5 << 20)],
)
def test_useless_input_ends_in_silence(service: FakeService, write: Write, payload: Any) -> None:
    write("home/.claude/skills", "pptx-author")
    assert hook(payload, "--agent", "nobody", "--unknown=1", "stray")[0] == ""
    assert service.asked == []


def test_a_service_that_hangs_is_left_behind(
    service: FakeService, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("home/.claude/skills", "pptx-author")
    monkeypatch.setenv("SKILL_ROUTER_HOOK_SECONDS", "0.5")
    service.delay.clear()
    started = perf_counter()
    assert hook({"prompt": DECK})[0] == ""
    assert perf_counter() - started < 5


def test_an_input_that_does_not_end_is_not_waited_for(
    service: FakeService, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("home/.claude/skills", "pptx-author")
    monkeypatch.setenv("SKILL_ROUTER_HOOK_SECONDS", "0.3")
    with subprocess.Popen(
        [sys.executable, "-m", "router.start", "hook"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps({"prompt": DECK}).encode())
        process.stdin.flush()
        assert process.wait(30) == 0
        assert process.stdout.read() == b"" and service.asked == []


def test_a_reader_that_left_is_no_error(service: FakeService, write: Write) -> None:
    write("home/.claude/skills", "pptx-author")
    service.answer = {"name": "pptx-author", "block": suggestion_block("pptx-author")}
    process = subprocess.Popen(
        [sys.executable, "-m", "router.start", "hook"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout and process.stdin and process.stderr
    process.stdout.close()
    process.stdin.write(json.dumps({"prompt": DECK}).encode())
    process.stdin.close()
    assert process.wait(20) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_the_way_through_the_service_imports_nothing_heavy(
    service: FakeService, write: Write
) -> None:
    write("home/.claude/skills", "pptx-author")
    service.answer = {"name": "pptx-author", "block": suggestion_block("pptx-author")}
    code = (
        "import os, sys; from router.start import main; sys.argv = ['skill-router', 'hook']\n"
        "os._exit = sys.exit\n"  # so that what follows still runs
        "try: main()\n"
        "finally: print([m for m in ('click', 'pydantic', 'numpy', 'yaml', 'asyncio', 'subprocess',"
        " 'dataclasses', 'roster', 'http') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps({"prompt": DECK}).encode(),
        capture_output=True,
    )
    assert done.stdout and done.stderr.decode().strip() == "[]"


def test_without_a_service_the_hook_decides_itself(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILL_ROUTER_HOOK_SECONDS", "50")
    write(
        "home/.claude/skills",
        "pptx-author",
        "Create PowerPoint slide decks (.pptx) from an outline, with a template.",
    )
    write("home/.claude/skills", "sourdough", "Bake sourdough bread from a starter.")
    out, done = hook({"prompt": DECK, "cwd": str(tmp_path)}, "--no-service")
    assert done.stderr == b""
    assert out == "" or "pptx-author" in out
    assert hook({"prompt": "Thanks!", "cwd": str(tmp_path)}, "--no-service")[0] == ""


def test_a_broken_setup_is_told_on_stderr_and_the_turn_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SKILL_ROUTER_HOOK_SECONDS", "50")
    out, done = hook({"prompt": DECK}, "--no-service", "--roster", "/nowhere/at/all")
    assert out == "" and b"/nowhere/at/all does not exist" in done.stderr


@pytest.fixture
def stopped(home: Path) -> Iterator[None]:
    """Stops the service that a test has had started, and nothing else."""
    yield
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(socket_path(runtime_folder()))
            raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    except OSError:
        return
    os.kill(int.from_bytes(raw[:4], sys.byteorder), signal.SIGTERM)


@pytest.mark.slow
def test_the_hook_starts_the_service_and_then_asks_it(
    tmp_path: Path, write: Write, stopped: None
) -> None:
    write("home/.claude/skills", "pptx-author", "Create PowerPoint slide decks from an outline.")
    assert not is_running()
    hook({"prompt": DECK, "cwd": str(tmp_path)})
    assert ensure_running(20) is not None
    out, done = hook({"prompt": DECK, "cwd": str(tmp_path)})
    assert done.stderr == b""
    assert out == "" or "pptx-author" in out
    again = ask(suggest_request({"prompt": DECK, "cwd": str(tmp_path)}) or {}, 20)
    assert again is not None and again["name"] in (None, "pptx-author")


def _indexing(cache: Path) -> set[int]:
    """Processes that make an index in this cache."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if (
                b"router.hook.indexing" in (entry / "cmdline").read_bytes()
                and f"SKILL_ROUTER_CACHE={cache}\0".encode() in (entry / "environ").read_bytes()
            ):
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, and nobody who goes on writing it when the test is over."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SKILL_ROUTER_CACHE", str(folder))
    yield folder
    for pid in _indexing(folder):
        os.kill(pid, signal.SIGKILL)


def test_a_router_that_is_still_at_work_when_time_is_up_is_left_in_silence(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Native threads that are still encoding must not abort the process as it ends."""
    monkeypatch.setenv("SKILL_ROUTER_HOOK_SECONDS", "2.5")
    out, done = hook({"prompt": DECK}, "--no-service", "--roster", str(BUNDLED))
    assert (out, done.stderr) == ("", b"")


@pytest.mark.slow
def test_without_a_service_the_index_is_made_in_the_background_once(
    cache: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write("skills", "pptx-author", "Create PowerPoint slide decks from an outline.")
    for number in range(60):
        write("skills", f"other-{number}", f"Bakes bread number {number}.")
    monkeypatch.setenv("SKILL_ROUTER_HOOK_SECONDS", "30")
    given = ({"prompt": DECK}, "--no-service", "--roster", str(folder))
    seen: set[int] = set()
    for _ in range(3):
        assert hook(*given)[0] == ""
        seen |= _indexing(cache)
        if not _indexing(cache):
            break
    assert len(seen) == 1
    while _indexing(cache):
        sleep(0.1)
    assert list(cache.glob("*/*.npz"))
    assert "pptx-author" in hook(*given)[0]


def test_a_cache_that_cannot_be_written_starts_no_indexing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("SKILL_ROUTER_CACHE", str(blocked / "cache"))
    with pytest.raises(OSError):
        index_in_background(["/nowhere"])
    assert not is_indexing()


def test_while_a_roster_is_indexed_the_service_is_asked_once_and_nothing_is_said(
    service: FakeService, write: Write
) -> None:
    write("home/.claude/skills", "pptx-author")
    service.status = 503
    started = perf_counter()
    assert hook({"prompt": DECK})[0] == ""
    assert perf_counter() - started < 5
    (asked,) = service.asked
    assert 0 < asked["roster_wait_s"] <= 0.5


@pytest.mark.slow
def test_a_cold_turn_is_not_held_up_and_the_next_ones_are_answered(
    cache: Path, tmp_path: Path, write: Write, stopped: None
) -> None:
    write("home/.claude/skills", "pptx-author", "Create PowerPoint slide decks from an outline.")
    for number in range(40):
        write("home/.claude/skills", f"other-{number}", f"Bakes bread number {number}.")
    payload = {"prompt": DECK, "cwd": str(tmp_path)}
    started = perf_counter()
    hook(payload)
    assert perf_counter() - started < PATIENCE + 5  # a slow machine's own time to start a process
    for _ in range(100):
        out, _done = hook(payload)
        if out:
            break
        sleep(0.5)
    assert "pptx-author" in out


def test_the_folder_claude_code_was_started_in_counts(
    service: FakeService, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write("work/.claude/skills", "pptx-author")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "work"))
    (tmp_path / "work" / "deep").mkdir()
    hook({"prompt": DECK, "cwd": str(tmp_path / "work" / "deep")})
    assert service.asked[0]["roster"] == [str(folder)]
