"""The agents' hook: what they write to it, the transcripts it reads, the service it asks."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from eval.fuzz.generate import Random, dumped, record, text, value
from eval.fuzz.service import running
from eval.fuzz.target import Target, require
from roster import is_safe_name
from router.hook.run import main
from router.hook.transcript import MAX_MESSAGE, MAX_MESSAGES, read_tail
from router.service.client import ask

_KEYS = ("prompt", "cwd", "session_id", "transcript_path", "hook_event_name", "permission_mode")
_LINES = (
    b'{"type": "user", "message": {"role": "user", "content": "Mend my kite"}}',
    b'{"type": "assistant", "message": {"content": [{"type": "text", "text": "Yes."}, {"type": '
    b'"tool_use", "name": "Skill", "input": {"skill": "kite-repair"}}]}}',
    b'{"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type":'
    b' "input_text", "text": "<skill><name>bread</name></skill>"}]}}',
    b'{"type": "user", "message": {"content": "<command-name>/kite-repair</command-name>"}}',
)
_ENTRY_KEYS = ("type", "message", "content", "role", "text", "name", "input", "skill", "payload",
               "file_path", "isMeta", "isSidechain", "arguments")  # fmt: skip
_ANSWERS = (
    b'HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\n{"name": "kite-repair", "block":1}',
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
)


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    service = stack.enter_context(running(place))
    home = place / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "skills").symlink_to(place / "skills")
    stack.enter_context(_environment(HOME=str(home), SKILL_ROUTER_SERVICE=service.address))
    skills = str(place / "skills")
    transcript = place / "transcript.jsonl"
    payload = {
        "hook_event_name": "UserPromptSubmit", "prompt": "Mend torn kites", "cwd": str(place),
        "session_id": "s", "transcript_path": str(transcript),
    }  # fmt: skip

    def feed_hook(data: bytes) -> bool:
        given = place / "stdin"
        given.write_bytes(data)
        transcript.write_bytes(_LINES[0])
        said, complained = io.StringIO(), io.StringIO()
        stdin = sys.stdin
        try:
            with (
                given.open() as sys.stdin,
                contextlib.redirect_stdout(said),
                contextlib.redirect_stderr(complained),
            ):
                code = main(["--agent", "claude"])
        finally:
            sys.stdin = stdin
        require(code == 0, f"exit code {code}")
        require(complained.getvalue() == "", f"a complaint: {complained.getvalue()[:300]}")
        if not said.getvalue():
            return False
        context = json.loads(said.getvalue())["hookSpecificOutput"]["additionalContext"]
        lines = context.split("\n")
        require(len(lines) == 3 and len(context) < 600, f"another block: {context!r}")
        return True

    def feed_transcript(data: bytes) -> bool:
        transcript.write_bytes(data)
        tail = read_tail(str(transcript))
        require(len(tail.messages) <= MAX_MESSAGES, "too many messages")
        require(all(len(said) <= MAX_MESSAGE for said in tail.messages), "a message too long")
        require(all(len(name) <= 128 for name in tail.loaded), "a name too long")
        return bool(tail.messages or tail.loaded)

    hostile = stack.enter_context(_hostile_service())

    def feed_client(data: bytes) -> bool:
        hostile.answer = data
        answer = ask({"request": "kites"}, 5.0, address=hostile.address)
        if answer is None:
            return False
        require(isinstance(answer, dict), "an answer that is no object")
        name = answer.get("name")
        return isinstance(name, str) and is_safe_name(name)

    return [
        Target("hook-stdin", 6, [json.dumps(payload).encode()],
               lambda r: build_payload(r, skills), feed_hook),
        Target("transcript", 12, [b"\n".join(_LINES), *_LINES], _build_transcript, feed_transcript),
        Target("service-answer", 6, _ANSWERS, _build_answer, feed_client),
    ]  # fmt: skip


def build_payload(random: Random, skills: str) -> bytes:
    """What an agent writes to its hook, more or less."""
    fields = {
        "hook_event_name": lambda r: r.choice(("UserPromptSubmit", "UserPromptSubmit", "Stop")),
        "prompt": lambda r: r.choice(("mend torn kites", "/review it", "$bread", text(r))),
        "cwd": lambda r: r.choice((skills, "/", "relative", text(r), "/proc/self/fd")),
        "session_id": text,
        "transcript_path": lambda r: r.choice(("/dev/zero", "/etc", text(r), None)),
    }
    return dumped(random, record(random, fields, _KEYS))


def _build_transcript(random: Random) -> bytes:
    block = {
        "type": lambda r: r.choice(("text", "tool_use", "input_text", "image")),
        "text": text,
        "name": lambda r: r.choice(("Skill", "Read", text(r))),
        "input": lambda r: {"skill": text(r), "file_path": f"/a/{text(r)}/SKILL.md"},
    }
    content = {
        "role": lambda r: r.choice(("user", "assistant")),
        "content": lambda r: r.choice((text(r), [record(r, block, _ENTRY_KEYS) for _ in "ab"])),
    }
    entry = {
        "type": lambda r: r.choice(("user", "assistant", "response_item")),
        "message": lambda r: record(r, content, _ENTRY_KEYS),
        "payload": lambda r: {"type": "message", **record(r, content, _ENTRY_KEYS)},
    }
    lines = [dumped(random, record(random, entry, _ENTRY_KEYS)) for _ in range(random.randrange(6))]
    return b"\n".join(lines)


def _build_answer(random: Random) -> bytes:
    body = dumped(random, value(random, ("name", "block", "reason", "fits")))
    length: object = len(body)
    if random.random() < 0.3:
        length = random.choice((len(body) + 1, -1, "x", "9" * 5_000, "\u00b2"))
    status = random.choice(("200 OK", "200 OK", "204", "500 x", "99999999", "", "2\u00b20 OK"))
    head = f"HTTP/1.{random.choice('019')} {status}\r\nContent-Length: {length}\r\n\r\n"
    return head.encode("utf-8") + body


class _Hostile:
    """Answers every connection with the same bytes, and hangs up.

    Attributes:
        answer: The bytes.
        address: Where it listens.
    """

    def __init__(self) -> None:
        self.answer = b""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.recv(65_536)
                connection.sendall(self.answer)


@contextlib.contextmanager
def _hostile_service() -> Iterator[_Hostile]:
    hostile = _Hostile()
    try:
        yield hostile
    finally:
        hostile.close()


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                del os.environ[name]
            else:
                os.environ[name] = old
