"""Asks the resident service, and starts it when none runs. Standard library only.

The hook of an agent runs this once a turn in a process of its own, so every import counts: the
HTTP exchange is written by hand, and what starts a service is imported only then.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from router.service.place import (
    ADDRESS_VARIABLE,
    PlaceError,
    lock_path,
    log_path,
    runtime_folder,
    socket_path,
)

if TYPE_CHECKING:
    import subprocess

MAX_ANSWER = 4 << 20
"""Largest answer that is read, in bytes."""

RETRY_SECONDS = 60.0
"""How long nothing is started again after a service died instead of leaving."""

_NEEDED = ("starlette", "uvicorn", "prometheus_client")


def ask(
    request: Mapping[str, Any],
    timeout_s: float = 1.0,
    *,
    path: str = "/v1/suggest",
    address: str | None = None,
) -> dict[str, Any] | None:
    """Post a request to the running service.

    Args:
        request: The JSON body; for ``/v1/suggest`` see `router.service.wire.SuggestRequest`.
        timeout_s: Seconds for the whole exchange.
        path: ``/v1/suggest`` or ``/v1/hook``.
        address: A socket's path or ``http://HOST:PORT``; by default `SKILL_ROUTER_SERVICE`, else
            the socket in the user's private folder.

    Returns:
        The answer's JSON object; ``{}`` for an answer without a body. None when no service runs,
        when it refuses or when it is too slow. Never raises.
    """
    return reach(request, timeout_s, path=path, address=address)[1]


def reach(
    request: Mapping[str, Any],
    timeout_s: float = 1.0,
    *,
    path: str = "/v1/suggest",
    address: str | None = None,
) -> tuple[bool, dict[str, Any] | None]:
    """`ask`, and whether a service is there at all, though it may refuse or be too slow."""
    try:
        body = json.dumps(request).encode("ascii")
        status, answer = _exchange(_address(address), "POST", path, body, timeout_s)
        if not 200 <= status < 300:
            return True, None
        value = json.loads(answer) if answer else {}
    except (ConnectionRefusedError, FileNotFoundError, PlaceError):
        return False, None
    except TimeoutError:
        return True, None
    except (OSError, ValueError, TypeError, RecursionError):
        return is_running(address), None
    return True, value if isinstance(value, dict) else None


def start(arguments: Sequence[str] = (), python: str | None = None) -> bool:
    """Start the user's own service in the background, unless one runs or is on its way.

    Of several processes that find none, one starts it: it takes the lock and hands it down to the
    service, which holds it as long as it lives.

    Args:
        arguments: Further arguments of ``skill-router serve``, such as ``("--idle", "600")``.
        python: The interpreter; by default this one.

    Returns:
        Whether one is to be expected; False when it cannot be had here. Never raises.
    """
    if os.environ.get(ADDRESS_VARIABLE):
        return False  # somebody else looks after that one
    try:
        return _start(runtime_folder(create=True), arguments, python or sys.executable)[0]
    except (OSError, ValueError):
        return False


def ensure_running(
    wait_s: float = 0.0,
    *,
    arguments: Sequence[str] = (),
    python: str | None = None,
) -> str | None:
    """Make sure that a service runs: the user's own one, on the default socket.

    Of several processes that find none, one starts it, as `start` has it.

    Args:
        wait_s: Seconds to wait until it answers; 0 only starts it.
        arguments: Further arguments of ``skill-router serve``, such as ``("--idle", "600")``.
        python: The interpreter; by default this one.

    Returns:
        The address of a service that answers, else None: it is still starting, or it cannot be
        started here. Never raises.
    """
    if os.environ.get(ADDRESS_VARIABLE):
        address = os.environ[ADDRESS_VARIABLE]
        return address if is_running(address) else None
    try:
        folder = runtime_folder(create=True)
        address = socket_path(folder)
        if is_running(address):
            return address
        expected, started = _start(folder, arguments, python or sys.executable)
        if not expected:
            return None
        end = monotonic() + wait_s
        while (left := end - monotonic()) > 0:
            if is_running(address, left):
                return address
            if started is not None and started.poll() is not None:
                return None
            _pause(min(0.05, left))
    except (OSError, ValueError):
        pass
    return None


def is_running(address: str | None = None, timeout_s: float = 0.5) -> bool:
    """Whether a service answers at an address."""
    try:
        return _exchange(_address(address), "GET", "/healthz", b"", timeout_s)[0] == 200
    except (OSError, ValueError):
        return False


def _address(address: str | None) -> str:
    return address or os.environ.get(ADDRESS_VARIABLE) or socket_path(runtime_folder())


def _exchange(
    address: str, method: str, path: str, body: bytes, timeout_s: float
) -> tuple[int, bytes]:
    """One HTTP/1.1 exchange on a connection of its own: status and body of the answer."""
    end = monotonic() + timeout_s
    connection, host = _connect(address, timeout_s)
    with connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        token = os.environ.get("SKILL_ROUTER_TOKEN")
        if token and host != "localhost":
            head += f"Authorization: Bearer {token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        _patience(connection, end)
        connection.sendall(head.encode("ascii") + body)
        received = bytearray()
        while True:
            _patience(connection, end)
            chunk = connection.recv(65536)
            if not chunk:
                break
            received += chunk
            if len(received) > MAX_ANSWER:
                raise OSError("the answer is too long")
    return _parsed(bytes(received))


def _connect(address: str, timeout_s: float) -> tuple[socket.socket, str]:
    if not address.startswith("http://"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            connection.connect(address)
            _require_own(connection, address)
        except BaseException:
            connection.close()
            raise
        return connection, "localhost"
    host = address.removeprefix("http://").rstrip("/")
    name, _, port = host.rpartition(":")
    if not name or not port.isdigit():
        raise ValueError(f"{address}: the address must read http://HOST:PORT")
    return socket.create_connection((name.strip("[]"), int(port)), timeout_s), host


def _require_own(connection: socket.socket, address: str) -> None:
    """Refuse a service of another user: what it says would reach this user's agent."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        owner = int.from_bytes(raw[4:8], sys.byteorder)
        if owner not in (os.getuid(), 0):
            raise PlaceError(f"{address}: the service belongs to another user")


def _patience(connection: socket.socket, end: float) -> None:
    left = end - monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)


def _parsed(answer: bytes) -> tuple[int, bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    parts = first.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise ValueError("this is no HTTP answer")
    for line in lines:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and int(value) != len(body):
            raise ValueError("the answer was cut off")
    return int(parts[1]), body


def _start(
    folder: str, arguments: Sequence[str], python: str
) -> tuple[bool, subprocess.Popen[bytes] | None]:
    """Start a service in the background, unless one runs, is starting, or died a moment ago.

    Whether one is to be expected, and the process when this call has started it.
    """
    import importlib.util
    import subprocess
    import time

    if not python or any(importlib.util.find_spec(name) is None for name in _NEEDED):
        return False, None
    import fcntl

    lock = os.open(lock_path(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True, None  # somebody else's service lives, or is on its way
        # A service that leaves as it should empties the file.
        status = os.fstat(lock)
        if status.st_size and 0 <= time.time() - status.st_mtime < RETRY_SECONDS:
            return False, None
        os.ftruncate(lock, 0)
        os.pwrite(lock, b"started\n", 0)
        command = [python, "-P", "-m", "router.service", "--inherited-lock", str(lock)]
        log = os.open(log_path(folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            return True, subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                pass_fds=(lock,),
            )
        finally:
            os.close(log)
    finally:
        os.close(lock)  # the service keeps the lock: it holds the same open file


def _pause(seconds: float) -> None:
    import time

    time.sleep(seconds)
