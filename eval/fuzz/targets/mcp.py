"""The MCP server over stdin and stdout: lines that are, or are not, its protocol."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from eval.fuzz.generate import Random, dumped, record, text, value
from eval.fuzz.service import write_skills
from eval.fuzz.target import MAX_MESSAGE, FaultError, Target, clean, require

_PATIENCE_S = 60.0
_CALL = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "suggest_skill", "arguments": {"request": "Mend torn kites"}},
}
_METHODS = (
    "tools/call",
    "tools/call",
    "tools/list",
    "ping",
    "resources/read",
    "prompts/get",
    "initialize",
    "notifications/cancelled",
    "logging/setLevel",
    "completion/complete",
    "x",
)
_TOOLS = ("suggest_skill", "search_skills", "load_skill", "no_such_tool")
_KEYS = ("jsonrpc", "id", "method", "params", "name", "arguments", "request", "query", "limit")


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    write_skills(place / "skills")
    server = _Server(place)
    stack.callback(server.stop)
    return [Target("mcp-message", 3, [json.dumps(_CALL).encode()], _build, server.feed)]


class _Server:
    """`skill-router mcp` in a process of its own, started when it is first needed."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._left = b""
        self._pings = 0

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def feed(self, data: bytes) -> bool:
        """Send a message and read until the server answers a ping that comes after it."""
        process = self._started()
        self._pings += 1
        ping = {"jsonrpc": "2.0", "id": f"ping-{self._pings}", "method": "ping"}
        self._send(process, data.replace(b"\n", b" ") + b"\n" + json.dumps(ping).encode() + b"\n")
        accepted = False
        while True:
            answer = self._read(process)
            if answer.get("id") == ping["id"]:
                require("result" in answer, f"a ping that failed: {answer}")
                return accepted
            accepted = _check(answer) or accepted

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            require(self._process is None, "the server died")
            command = [sys.executable, "-m", "router.start", "mcp"]
            self._process = subprocess.Popen(
                [*command, "--roster", str(self._place / "skills")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "SKILL_ROUTER_CACHE": str(self._place / "cache")},
            )
            client = {"protocolVersion": "2025-06-18", "capabilities": {},
                      "clientInfo": {"name": "fuzz", "version": "1"}}  # fmt: skip
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            lines = b"".join(json.dumps(one).encode() + b"\n" for one in (hello, ready))
            self._send(self._process, lines)
            require("result" in self._read(self._process), "an initialize that failed")
        return self._process

    def _send(self, process: subprocess.Popen[bytes], data: bytes) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(data)
            process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            raise FaultError("the server died") from None

    def _read(self, process: subprocess.Popen[bytes]) -> dict[str, object]:
        assert process.stdout is not None
        end = time.monotonic() + _PATIENCE_S
        while b"\n" not in self._left:
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(process.stdout.fileno(), 65_536) if ready else b""
            if not chunk:
                self._left = b""
                self.stop()
                raise FaultError("the server died" if ready else "the server fell silent")
            self._left += chunk
        line, _, self._left = self._left.partition(b"\n")
        answer = json.loads(line)
        require(isinstance(answer, dict), f"a line that is no object: {line[:200]!r}")
        require(answer.get("jsonrpc") == "2.0", f"a line that is not JSON-RPC: {line[:200]!r}")
        found: dict[str, object] = answer
        return found


def _check(answer: dict[str, object]) -> bool:
    """Whether an answer is a result; an error must read as one."""
    error = answer.get("error")
    if isinstance(error, dict):
        return clean(json.dumps(error.get("message")))
    result = answer.get("result")
    if isinstance(result, dict) and result.get("isError"):
        # The SDK tells every argument that is wrong; the list may be long.
        return clean(json.dumps(result["content"])[:MAX_MESSAGE])
    return True


def _build(random: Random) -> bytes:
    arguments = {
        "request": lambda r: r.choice(("mend torn kites", text(r))),
        "query": lambda r: r.choice(("bread", text(r))),
        "limit": lambda r: r.choice((1, 5, 0, -1, 10**20)),
        "name": lambda r: r.choice(("kite-repair", text(r))),
        "allowed_tools": lambda r: r.choice(([text(r)], None)),
    }
    params = {
        "name": lambda r: r.choice(_TOOLS),
        "arguments": lambda r: record(r, arguments, _KEYS),
    }
    message = {
        "jsonrpc": lambda r: "2.0",
        "id": lambda r: r.choice((1, 2, "a", text(r))),
        "method": lambda r: r.choice(_METHODS),
        "params": lambda r: record(r, params, _KEYS),
    }
    whole: object = record(random, message, _KEYS)
    if random.random() < 0.05:
        whole = [whole, value(random, _KEYS)]
    return dumped(random, whole)
