"""The resident service: bodies on each of its paths, and requests byte by byte."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from eval.fuzz.generate import Random, dumped, record, text
from eval.fuzz.service import MAX_BODY, Running, running
from eval.fuzz.target import Target, clean, require
from eval.fuzz.targets.hook import build_payload
from eval.fuzz.targets.replies import build_system_one

_PATIENCE_S = 20.0
_REFUSALS = {400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 422, 429, 431, 501, 505, 503}
_ASKED = (
    b'{"request": "Mend torn kites please", "recent_context": ["hi"], "loaded": [], "full": true}',
    b'{"request": "Bake bread", "allowed_tools": ["terminal"], "session": "s-1"}',
)
_RAW = (
    b"POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Content-Length: 20\r\nConnection: close\r\n\r\n{"request": "kites"}',
    b"POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    b'14\r\n{"request": "kites"}\r\n0\r\n\r\n',
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    b"GET /metrics HTTP/1.0\r\n\r\n",
)
_FIELDS = ("request", "recent_context", "allowed_tools", "loaded", "roster", "session", "full")


def targets(place: Path, stack: ExitStack) -> list[Target]:
    """The targets of this module."""
    service = stack.enter_context(running(place))
    skills = str(place / "skills")
    posted = _Posted(service)
    stack.callback(posted.close)
    system_one = b'{"model": "m", "state": "mend", "questions": {"which": {"type": "choice", "instr'
    system_one += b'uctions": "x", "criteria": {"kite-repair": "Mend", "bread": "Bake"}}}}'
    hook = json.dumps(
        {"hook_event_name": "UserPromptSubmit", "prompt": "Mend torn kites", "cwd": skills}
    ).encode()
    return [
        Target("http-suggest", 6, _ASKED, lambda r: _build(r, skills), posted.to("/v1/suggest")),
        Target("http-hook", 3, [hook], lambda r: build_payload(r, skills), posted.to("/v1/hook")),
        Target("http-systemone", 5, [system_one], build_system_one, posted.to("/v1/systemone")),
        Target("http-raw", 4, _RAW, _build_raw, lambda data: _feed_raw(service, data)),
    ]


class _Posted:
    """Posts bodies on one connection, opened anew when the service closed it."""

    def __init__(self, service: Running) -> None:
        self._connection = http.client.HTTPConnection(
            service.host, service.port, timeout=_PATIENCE_S
        )

    def to(self, path: str) -> Callable[[bytes], bool]:
        """Feeds bodies to a path."""
        return lambda body: self._post(path, body)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _post(self, path: str, body: bytes) -> bool:
        headers = {"Content-Type": "application/json"}
        for last in (False, True):
            try:
                self._connection.request("POST", path, body, headers)
                answer = self._connection.getresponse()
                data = answer.read()
                break
            except (http.client.RemoteDisconnected, ConnectionError):
                # It may close a connection between two requests; twice in a row it may not.
                self._connection.close()
                if len(body) > MAX_BODY:
                    return False  # it hung up on a body that it will not take
                require(not last, "no answer")
        if answer.status == 204:
            require(data == b"", "a 204 with a body")
            return True
        return _check(answer.status, answer.headers.get("content-type", ""), data)


def _check(status: int, kind: str, data: bytes) -> bool:
    require(status == 200 or status in _REFUSALS, f"status {status}: {data[:300]!r}")
    if status == 200:
        if kind.startswith("application/json"):
            found = json.loads(data)
            require(isinstance(found, dict), "an answer that is no object")
            require(found.get("reason") != "router_error", f"the router failed: {data[:300]!r}")
        return True
    if kind.startswith("application/problem+json"):
        problem = json.loads(data)
        require(problem["status"] == status, "a problem with another status")
        return clean(problem["detail"])
    return clean(data.decode("utf-8", "replace"))


def _feed_raw(service: Running, data: bytes) -> bool:
    received = bytearray()
    with socket.create_connection((service.host, service.port), _PATIENCE_S) as connection:
        with contextlib.suppress(ConnectionError):  # it may have heard enough
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while chunk := connection.recv(65_536):
                received += chunk
    if not received:
        return False  # hung up on: there was no whole request in it
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 100 "):  # it had asked whether to go on
        if not body:
            return False  # and what came then was no body: hung up on
        head, _, body = body.partition(b"\r\n\r\n")
    found = re.match(rb"HTTP/1\.1 (\d{3})", head)
    require(found is not None, f"an answer that is not HTTP: {bytes(received[:200])!r}")
    assert found is not None
    status = int(found[1])
    require(status in (200, 204) or status in _REFUSALS, f"status {status}: {body[:300]!r}")
    return status < 300


def _build(random: Random, skills: str) -> bytes:
    fields = {
        "request": lambda r: r.choice(("mend torn kites", text(r))),
        "recent_context": lambda r: [text(r) for _ in range(r.randrange(4))],
        "allowed_tools": lambda r: r.choice((None, [], [text(r)[:200]])),
        "loaded": lambda r: r.choice(([], ["kite-repair"], [text(r)[:200]])),
        "roster": lambda r: r.choice((None, [skills], ["/etc"], [text(r)], ["/proc/self/root"])),
        "session": lambda r: text(r)[:200],
        "full": lambda r: r.random() < 0.5,
    }
    return dumped(random, record(random, fields, _FIELDS))


def _build_raw(random: Random) -> bytes:
    body = _build(random, "/tmp")
    method = random.choice(("POST", "POST", "GET", "PUT", "HEAD", "BREW", ""))
    path = random.choice(
        ("/v1/suggest", "/v1/hook", "/healthz", "/x", "//", "/%00", "*", "/" * 999)
    )
    lines = [f"{method} {path} HTTP/{random.choice(('1.1', '1.1', '1.0', '2.0', '9'))}"]
    headers = (
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {random.choice((len(body), len(body), 0, -1, 10**9, '9' * 400, 'x'))}",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Expect: 100-continue",
        "Upgrade: websocket",
        "Authorization: Bearer \u00fc",
        "Origin: http://evil.example",
        "X: " + "a" * random.choice((10, 40_000)),
        "Connection: close",
    )
    lines += [h for at, h in enumerate(headers) if random.random() < (0.85 if at < 3 else 0.12)]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body
