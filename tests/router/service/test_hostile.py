"""Bodies, clients and paths that mean no good."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.router.service.running import Running, running, write_skill

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One service for all bodies: whatever it was sent before, it must answer the next."""
    folder = tmp_path_factory.mktemp("hostile")
    write_skill(folder / "skills", "kite-repair", "Mend torn kite sails.")
    with running(
        folder / "skills", max_body=65_536, body_s=0.5, allowed_roots=(folder,)
    ) as service:
        yield service
        assert service.post({"request": "mend kite"}).json()["name"] == "kite-repair"


def send(service: Running, body: bytes, **headers: str) -> httpx.Response:
    with service.client() as client:
        return client.post("/v1/suggest", content=body, headers={**JSON, **headers})


def deep(levels: int) -> bytes:
    return b'{"request": ' + b"[" * levels + b"]" * levels + b"}"


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "empty"),
        (b"{", 400, "line 1, column 2"),
        (b"[]", 400, "array"),
        (b"null", 400, "null"),
        (b"\xff\xfe{}", 400, "UTF-8"),
        (b'{"request": "a", "request": "b"}', 400, "'request' occurs twice"),
        (b'{"request": "a", "loaded": [{"x": 1, "x": 2}]}', 400, "'x' occurs twice"),
        (b'{"request": NaN}', 400, "NaN"),
        (b'{"request": -Infinity}', 400, "-Infinity"),
        (b'{"request": ' + b"9" * 5_000 + b"}", 400, "not usable JSON"),
        (deep(30), 400, "20 levels"),
        (deep(30_000), 400, "20 levels"),
        (b'{"request": "' + b"a" * 70_000 + b'"}', 413, "65536 bytes"),
        (b"{}", 422, "request"),
        (b'{"request": 5}', 422, "request"),
        (b'{"request": null}', 422, "request"),
        (b'{"request": "a", "loaded": "b"}', 422, "loaded"),
        (b'{"request": "a", "recent_context": [1]}', 422, "recent_context.0"),
        (b'{"request": "a", "full": "yes"}', 422, "full"),
        (b'{"request": "a", "rooster": []}', 422, "rooster"),
        (b'{"request": "a", "roster": []}', 422, "roster"),
        (
            json.dumps({"request": "a", "roster": [f"/x{n}" for n in range(1_000)]}).encode(),
            422,
            "roster",
        ),
        (b'{"request": "a", "roster": ["skills"]}', 422, "absolute"),
        (b'{"request": "a", "roster": ["/tmp/\\u0000"]}', 422, "absolute"),
        (b'{"request": "a", "roster": ["/tmp/../etc"]}', 422, "'..'"),
        (b'{"request": "a", "roster": ["/etc"]}', 403, "outside"),
        (b'{"request": "a", "roster": ["/no/such/folder"]}', 403, "outside"),
    ],
)
def test_bad_bodies_are_refused_by_name(
    shared: Running, body: bytes, status: int, says: str
) -> None:
    answer = send(shared, body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status and says in problem["detail"]


def test_half_characters_do_no_harm(shared: Running) -> None:
    answer = send(shared, b'{"request": "mend kite \\ud83d", "session": "\\udc00"}')
    assert answer.json()["name"] == "kite-repair"


def test_a_body_without_a_length_is_bounded_too(shared: Running) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1_000):
            yield b"a" * 1_000

    # It may hang up on us while we are still sending.
    with shared.client() as client, contextlib.suppress(httpx.WriteError):
        assert client.post("/v1/suggest", content=endless(), headers=JSON).status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_a_web_form_can_send_is_refused(shared: Running, kind: str) -> None:
    assert send(shared, b'{"request": "a"}', **{"Content-Type": kind}).status_code == 415


def test_web_pages_cannot_ask(shared: Running) -> None:
    assert send(shared, b'{"request": "a"}', Origin="https://evil.example").status_code == 403
    assert send(shared, b'{"request": "a"}', Host="evil.example").status_code == 403
    assert send(shared, b'{"request": "a"}', Host="localhost:1").status_code == 200


def test_paths_and_methods(shared: Running) -> None:
    with shared.client() as client:
        assert client.get("/v1/suggest").status_code == 405
        assert client.get("/v1/../etc/passwd").status_code == 404
        assert client.post("/healthz").status_code == 405
        assert client.get("/%00").status_code == 404


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_no_bytes_break_it(shared: Running, body: bytes) -> None:
    assert 400 <= send(shared, body).status_code < 500


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)
FIELDS = st.sampled_from(
    ["request", "recent_context", "allowed_tools", "loaded", "roster", "session", "full", "other"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=st.dictionaries(FIELDS, VALUES))
def test_no_values_break_it(shared: Running, body: dict[str, object]) -> None:
    answer = send(shared, json.dumps(body).encode())
    assert answer.status_code in (200, 400, 403, 404, 422)
    if answer.status_code == 200:
        assert answer.json()["reason"] != "router_error"


def connect(service: Running) -> socket.socket:
    host, port = service.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 10)


HEAD = b"POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_a_slow_body_is_given_up(shared: Running) -> None:
    with connect(shared) as slow:
        slow.sendall(HEAD + b"Content-Length: 20\r\n\r\n{")
        assert slow.recv(4096).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("sent", [b"", b"POST /v1/sug", HEAD, HEAD * 3])
def test_a_slow_head_is_hung_up_on(shared: Running, sent: bytes) -> None:
    started = time.monotonic()
    with connect(shared) as slow:
        slow.sendall(sent)
        slow.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            assert slow.recv(4096) == b""
    assert time.monotonic() - started < 3


def test_a_slow_second_head_is_hung_up_on(shared: Running) -> None:
    with connect(shared) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(65_536).startswith(b"HTTP/1.1 200 ")
        slow.sendall(b"GET /heal")
        slow.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            # The rest of the first answer may come in a segment of its own.
            while rest := slow.recv(4096):
                assert not rest.startswith(b"HTTP/1.1")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        HEAD + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        HEAD + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    ],
)
def test_garbage_is_not_http(shared: Running, sent: bytes) -> None:
    with connect(shared) as rude:
        rude.sendall(sent)
        answer = rude.recv(4096)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


def test_links_cannot_lead_out_of_the_allowed_folders(tmp_path: Path) -> None:
    write_skill(tmp_path / "secret", "secret-skill", "Mend torn kite sails.")
    write_skill(tmp_path / "open", "kite-repair", "Mend torn kite sails.")
    (tmp_path / "open" / "out").symlink_to(tmp_path / "secret")
    with running(tmp_path / "open", allowed_roots=(tmp_path / "open",)) as service:
        inside = service.post({"request": "mend kite", "roster": [str(tmp_path / "open")]})
        assert inside.status_code == 200
        for path in (tmp_path / "open" / "out", tmp_path / "open-not", tmp_path):
            refused = service.post({"request": "mend kite", "roster": [str(path)]})
            assert refused.status_code == 403, path


def test_the_token_is_required_on_every_path(skills: Path) -> None:
    token = "a-token-of-24-characters"
    with running(skills, token=token) as service:
        for path in ("/healthz", "/metrics", "/openapi.json"):
            assert service.get(path).status_code == 401
        assert service.post({"request": "mend kite"}).status_code == 401
        for wrong in (token, "Bearer", f"Bearer {token}x", "Bearer \u00e4".encode()):
            with service.client(headers={"Authorization": wrong}) as client:
                assert client.post("/v1/suggest", json={"request": "a"}).status_code == 401
        with service.client(headers={"Authorization": f"Bearer {token}"}) as client:
            assert client.post("/v1/suggest", json={"request": "a"}).status_code == 200


def test_the_socket_is_the_owners_alone(skills: Path, short: Path) -> None:
    # The folder lets everybody in: the socket's own mode must keep them out.
    short.chmod(0o755)
    with running(skills, socket=short / "s") as service:
        assert (short / "s").stat().st_mode & 0o777 == 0o600
        assert service.get("/healthz").status_code == 200
        if os.getuid() == 0:
            assert _connects_as_nobody(str(short / "s")) == "PermissionError"
    assert not (short / "s").exists()


def _connects_as_nobody(path: str) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setuid(65_534)
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(path)
            os.write(writing, b"connected")
        except OSError as error:
            os.write(writing, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as said:
        return said.read().decode()
