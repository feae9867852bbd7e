"""A loopback server that speaks the Messages API and its batches, and misbehaves on demand."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

NAMED = re.compile(r"Relevant to the current request: (\S+)\. ")


@dataclass
class Say:
    """What one call gets instead of a good answer.

    Attributes:
        status: HTTP status.
        body: Body, as it is.
        headers: More headers.
        cut: Close the connection in the middle of the body.
        hold: Wait for this before answering anything.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hold: threading.Event | None = None


def error(status: int, kind: str, headers: dict[str, str] | None = None) -> Say:
    body = {"type": "error", "error": {"type": kind, "message": f"this is {kind}"}}
    return Say(status, json.dumps(body).encode(), headers or {})


def message(content: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> Say:
    return Say(body=json.dumps(_message(content, usage)).encode())


def _message(content: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "tool_use" if content else "end_turn", "stop_sequence": None,
        "usage": usage or {"input_tokens": 10, "output_tokens": 5},
    }  # fmt: skip


def loads(name: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": "t1", "name": "skill_view", "input": {"name": name}}]


class MessagesServer:
    """Answers as an agent that follows the block and loads nothing without one.

    Args:
        plan: Told the number of the call, from 0, and its body; what it returns is said instead.
    """

    def __init__(self, plan: Callable[[int, dict[str, Any]], Say | None] | None = None) -> None:
        self.plan = plan or (lambda number, body: None)
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answered: Counter[str] = Counter()
        self.batches: dict[str, dict[str, Any]] = {}
        self.batch_plan: Callable[[int], Say | None] = lambda number: None
        self.batch_creations = 0
        self.archived: set[str] = set()
        self.polls_until_ended = 1
        self._prefixes: set[str] = set()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def good(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a call, its prompt cached from the second time on."""
        prefix = hashlib.sha256(body["system"][0]["text"].encode()).hexdigest()
        with self._lock:
            cached = prefix in self._prefixes
            self._prefixes.add(prefix)
        size = len(body["system"][0]["text"]) // 4
        usage = {
            "input_tokens": 20, "output_tokens": 7,
            "cache_read_input_tokens": size if cached else 0,
            "cache_creation_input_tokens": 0 if cached else size,
        }  # fmt: skip
        named = NAMED.search("".join(part["text"] for part in body["system"][1:]))
        return _message(loads(named[1]) if named else [], usage)

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805  # the handler has its own self
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = json.loads(self.rfile.read(length))
                if self.path == "/v1/messages":
                    self._message(body)
                elif self.path == "/v1/messages/batches":
                    self._create(body)
                else:
                    self._say(error(404, "not_found_error"))

            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                if path == "/v1/messages/batches":
                    data = [server.batch_view(key) for key in reversed(server.batches)]
                    page = {"data": data, "has_more": False, "first_id": None, "last_id": None}
                    self._say(Say(body=json.dumps(page).encode()))
                    return
                key = path.split("/")[4]
                if key not in server.batches:
                    self._say(error(404, "not_found_error"))
                elif path.endswith("/results"):
                    self._say(Say(body=server.batch_results(key)))
                else:
                    server.batches[key]["polls"] += 1
                    self._say(Say(body=json.dumps(server.batch_view(key)).encode()))

            def _message(self, body: dict[str, Any]) -> None:
                with server._lock:
                    number = len(server.seen)
                    server.seen.append(body)
                    server.headers.append(dict(self.headers))
                said = server.plan(number, body)
                if said is not None:
                    self._say(said)
                    return
                with server._lock:
                    server.answered[json.dumps(body, sort_keys=True)] += 1
                self._say(Say(body=json.dumps(server.good(body)).encode()))

            def _create(self, body: dict[str, Any]) -> None:
                number = server.batch_creations
                server.batch_creations += 1
                said = server.batch_plan(number)
                if said is not None and said.status < 500 and not said.cut:
                    self._say(said)
                    return
                key = f"msgbatch_{number}"
                server.batches[key] = {"requests": body["requests"], "polls": 0}
                self._say(said or Say(body=json.dumps(server.batch_view(key)).encode()))

            def _say(self, say: Say) -> None:
                if say.hold is not None:
                    say.hold.wait(30)
                self.send_response(say.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(say.body) + (100 if say.cut else 0)))
                for name, value in say.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(say.body)
                if say.cut:
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def batch_view(self, key: str) -> dict[str, Any]:
        batch = self.batches[key]
        ended = batch["polls"] > self.polls_until_ended
        count = len(batch["requests"])
        counts = {"processing": 0 if ended else count, "succeeded": count if ended else 0}
        now = datetime.now(UTC).isoformat()
        return {
            "id": key, "type": "message_batch", "created_at": now, "expires_at": now,
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {**counts, "errored": 0, "canceled": 0, "expired": 0},
            "results_url": (
                f"{self.url}/v1/messages/batches/{key}/results"
                if ended and key not in self.archived
                else None
            ),
            "archived_at": now if key in self.archived else None,
            "cancel_initiated_at": None, "ended_at": now if ended else None,
        }  # fmt: skip

    def batch_results(self, key: str) -> bytes:
        lines = []
        for entry in reversed(self.batches[key]["requests"]):
            result = {"type": "succeeded", "message": self.good(entry["params"])}
            if "tank of the car" in json.dumps(entry["params"]["messages"]):
                result = {"type": "expired"}
            lines.append(json.dumps({"custom_id": entry["custom_id"], "result": result}))
        return ("\n".join(lines) + "\n").encode()
