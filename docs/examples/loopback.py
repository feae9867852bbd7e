"""A stand-in for the Messages API on the loopback interface, for examples and tests.

It counts tokens as a provider with prefix caching does: a request's prefix is the tools, then the
system prompt, then the messages, block by block. A breakpoint (`cache_control`) writes the prefix
that ends there; a later request reads the longest written prefix that ends at one of its own
breakpoints or at most 20 blocks before it. A token is four bytes; prefixes under 1,024 tokens are
not cached; more than four breakpoints are refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

LOOKBACK = 20
LEAST_PREFIX = 1_024

Reply = Callable[[dict[str, Any]], list[dict[str, Any]]]


class PrefixCache:
    """What a provider has cached, and what each request reads and writes."""

    def __init__(self) -> None:
        self.written: set[str] = set()

    def usage(self, body: dict[str, Any]) -> dict[str, int]:
        """Count a request's tokens; remember what it writes."""
        blocks = list(prefix_blocks(body))
        breakpoints = [i for i, (_, _, marked) in enumerate(blocks) if marked]
        if len(breakpoints) > 4:
            raise ValueError(f"a maximum of 4 blocks with cache_control, found {len(breakpoints)}")
        keys, sizes, state, size = [], [], hashlib.sha256(), 0
        for text, tokens, _ in blocks:
            state.update(text.encode())
            size += tokens
            keys.append(state.hexdigest())
            sizes.append(size)
        read = 0
        for end in breakpoints:
            for i in range(end, max(-1, end - LOOKBACK - 1), -1):
                if keys[i] in self.written:
                    read = max(read, sizes[i])
                    break
        last = 0
        for end in breakpoints:
            if sizes[end] >= LEAST_PREFIX:
                self.written.add(keys[end])
                last = sizes[end]
        return {
            "input_tokens": size - max(last, read),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": max(0, last - read),
            "output_tokens": 20,
        }


def prefix_blocks(body: dict[str, Any]) -> Iterator[tuple[str, int, bool]]:
    """The blocks of a request in the order of its prefix: text, tokens, whether it is marked."""
    for tool in body.get("tools", []):
        yield _block("tool", tool)
    system = body.get("system", [])
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield _block("system", block)
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            yield _block(message["role"], block)


def _block(role: str, block: dict[str, Any]) -> tuple[str, int, bool]:
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    text = f"{role} {json.dumps(bare, sort_keys=True)}\n"
    return text, -(-len(text) // 4), "cache_control" in block


class LoopbackServer:
    """The server: `requests` holds every body it got, `usages` what it counted."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self.usages: list[dict[str, int]] = []
        self.fail_next = 0
        self.cache = PrefixCache()
        self.reply = reply or (lambda body: [{"type": "text", "text": "Done."}])
        self.url = ""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer to a request."""
        self.requests.append(body)
        if self.fail_next:
            self.fail_next -= 1
            return 529, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
        try:
            usage = self.cache.usage(body)
        except ValueError as error:
            fault = {"type": "invalid_request_error", "message": str(error)}
            return 400, {"type": "error", "error": fault}
        if path.endswith("/count_tokens"):
            return 200, {"input_tokens": sum(usage.values()) - usage["output_tokens"]}
        self.usages.append(usage)
        content = self.reply(body)
        called = any(block["type"] == "tool_use" for block in content)
        return 200, {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "tool_use" if called else "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }


@contextmanager
def loopback(reply: Reply | None = None) -> Iterator[LoopbackServer]:
    """Run a server as long as the block runs."""
    server = LoopbackServer(reply)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = server.answer(self.path.split("?")[0], body)
            stream = body.get("stream") and status == 200
            data = events(answer) if stream else json.dumps(answer).encode()
            self.send_response(status)
            kind = "text/event-stream" if stream else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listener.server_port}"
    thread = Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def events(message: dict[str, Any]) -> bytes:
    """A message of text blocks as server-sent events."""
    text = message["content"][0]["text"]
    start = {**message, "content": [], "stop_reason": None}
    parts: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": message["usage"],
        },
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {p['type']}\ndata: {json.dumps(p)}\n\n".encode() for p in parts)
