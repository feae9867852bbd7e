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
from time import perf_counter
from typing import Any

import pytest

from router import suggestion_block
from router.hook.request import suggest_request
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
            self.send_response(200)
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


def test_without_a_service_the_hook_decides_itself(tmp_path: Path, write: Write) -> None:
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


def test_a_broken_setup_is_told_on_stderr_and_the_turn_goes_on(write: Write) -> None:
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


def test_a_router_that_is_still_at_work_when_time_is_up_is_left_in_silence(tmp_path: Path) -> None:
    """Native threads that are still encoding must not abort the process as it ends."""
    done = subprocess.run(
        [sys.executable, "-m", "router.start", "hook", "--no-service", "--roster", str(BUNDLED)],
        input=json.dumps({"prompt": DECK}).encode(),
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "SKILL_ROUTER_CACHE": str(tmp_path / "empty"),
            "SKILL_ROUTER_HOOK_SECONDS": "2.5",
        },
        cwd=ROOT,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
