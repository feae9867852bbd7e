"""A real HTTP server on the loopback interface that answers as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from backports import zstd


@dataclass(frozen=True)
class Answer:
    """One HTTP response.

    Attributes:
        body: An object sent as JSON, or the exact bytes.
        status: HTTP status.
        headers: Further headers.
        delay_s: Seconds before anything is sent.
        drop: Close the connection without a response.
        cut: Close the connection after half of the body.
    """

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drop: bool = False
    cut: bool = False


Script = Callable[[dict[str, Any], int], Answer]
"""Takes the request's JSON and its number, from 1."""


class Loopback:
    """A running server.

    Attributes:
        url: Its root.
        requests: JSON bodies it got.
        paths: Their paths.
        headers: Their headers.
    """

    def __init__(self, script: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.headers.get("content-encoding") == "zstd":
                    raw = zstd.decompress(raw)
                data = json.loads(raw)
                with outer._lock:
                    outer.requests.append(data)
                    outer.paths.append(self.path)
                    outer.headers.append({k.lower(): v for k, v in self.headers.items()})
                    number = len(outer.requests)
                self._send(script(data, number))

            def _send(self, answer: Answer) -> None:
                time.sleep(answer.delay_s)
                self.close_connection = answer.drop or answer.cut
                if answer.drop:
                    return
                body = answer.body
                payload = body if isinstance(body, bytes) else json.dumps(body).encode()
                try:
                    self.send_response(answer.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(payload)))
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(payload[: len(payload) // 2] if answer.cut else payload)
                except OSError:
                    self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def loopback(script: Script) -> Iterator[Loopback]:
    """Serve a script for the length of a block."""
    server = Loopback(script)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def in_turn(*answers: Answer) -> Script:
    """A script that gives one answer after the other, the last one again and again."""
    return lambda data, number: answers[min(number, len(answers)) - 1]
