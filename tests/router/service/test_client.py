"""The client that the hook uses, and how services are started: real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.service import client
from router.service.client import ask, ensure_running, is_running
from router.service.place import PROTOCOL, PlaceError, runtime_folder, socket_path
from tests.router.service.running import running
from tests.router.service.test_limits import until

KITE = {"request": "mend the torn kite"}


@pytest.fixture
def place(short: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A private folder of its own for the service; whoever runs there is told to leave."""
    monkeypatch.setenv("SKILL_ROUTER_RUNTIME", str(short))
    monkeypatch.delenv("SKILL_ROUTER_SERVICE", raising=False)
    yield short
    for pid in _services(short):
        os.kill(pid, signal.SIGTERM)
    until(lambda: not _services(short), 30)


def _services(place: Path) -> set[int]:
    """Processes that were started with this private folder and are services."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
            if b"router.service" in command and (
                f"SKILL_ROUTER_RUNTIME={place}\0".encode() in (entry / "environ").read_bytes()
            ):
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_asking_a_service(skills: Path, short: Path, kind: str) -> None:
    with running(skills, **({"socket": short / "s"} if kind == "unix" else {})) as service:
        answer = ask(KITE, 5, address=service.address)
        assert answer is not None and answer["name"] == "kite-repair"
        assert ask({"reqest": "x"}, 5, address=service.address) is None
        assert ask({"prompt": "/slash"}, 5, path="/v1/hook", address=service.address) == {}
        started = time.monotonic()
        assert ask({"request": "wait"}, 0.3, address=service.address) is None
        assert time.monotonic() - started < 1.5


def test_the_token_goes_along(skills: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "a-token-of-24-characters"
    with running(skills, token=token) as service:
        monkeypatch.setenv("SKILL_ROUTER_SERVICE", service.address)
        assert ask(KITE, 5) is None
        monkeypatch.setenv("SKILL_ROUTER_TOKEN", token)
        answer = ask(KITE, 5)
        assert answer is not None and answer["name"] == "kite-repair"
        assert ensure_running() == service.address


@pytest.mark.parametrize(
    "address", ["/no/such/socket", "http://127.0.0.1:1", "http://nonsense", "x" * 300, "http://:x"]
)
def test_nobody_there(address: str) -> None:
    assert ask(KITE, 0.5, address=address) is None
    assert not is_running(address)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"hello",
        b"HTTP/1.1 200 OK\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
        b"HTTP/1.1 500 No\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (5 << 20),
    ],
)
def test_a_strange_answer_is_none(short: Path, said: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(short / "s"))
        listening.listen(1)

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                with contextlib.suppress(OSError):
                    connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        assert ask(KITE, 5, address=str(short / "s")) is None
        thread.join()


def test_what_cannot_be_sent_is_none(short: Path) -> None:
    assert ask({"request": object()}, 1, address=str(short / "s")) is None


def test_the_private_folder_must_be_private(place: Path) -> None:
    place.chmod(0o755)
    with pytest.raises(PlaceError, match="0700"):
        runtime_folder()
    assert ask(KITE, 1) is None and ensure_running(1) is None
    place.chmod(0o700)
    assert runtime_folder() == str(place)
    place.rename(place.with_name(place.name + "-real"))
    place.symlink_to(place.with_name(place.name + "-real"))
    with pytest.raises(PlaceError, match="not a folder"):
        runtime_folder()
    place.unlink()
    place.with_name(place.name + "-real").rename(place)


def test_the_client_imports_nothing_heavy() -> None:
    code = "import sys, json; import router.service.client; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & {"numpy", "pydantic", "starlette", "uvicorn", "http", "asyncio", "click"}


_RACER = """
import sys, time
from router.service.client import ensure_running
while time.time() < float(sys.argv[1]):
    pass
print(ensure_running(20, arguments=("--idle", "30")))
"""


@pytest.mark.slow
def test_one_wins_a_race_of_ten(place: Path) -> None:
    start = str(time.time() + 3)
    racers = [
        subprocess.Popen([sys.executable, "-c", _RACER, start], stdout=subprocess.PIPE, text=True)
        for _ in range(10)
    ]
    said = [racer.communicate(timeout=60)[0].strip() for racer in racers]
    assert said == [socket_path(str(place))] * 10
    assert len(_services(place)) == 1


def test_it_is_started_answers_drains_and_leaves_nothing_behind(place: Path, skills: Path) -> None:
    assert not is_running()
    address = ensure_running(30, arguments=("--idle", "60", "--roster", str(skills)))
    assert address == socket_path(str(place))
    assert Path(address).stat().st_mode & 0o777 == 0o600
    assert ensure_running() == address
    answer = ask({"request": "Mend the sail of my kite, it is torn.", "full": True}, 60)
    assert answer is not None and answer["reason"] != "router_error"
    assert {name for name, _ in answer["ranking"]} == {"kite-repair", "bread-bake"}
    (pid,) = _services(place)
    second = subprocess.run(
        [sys.executable, "-m", "router.service"], capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 1 and "runs already" in second.stderr
    os.kill(pid, signal.SIGTERM)
    until(lambda: not _services(place), 30)
    assert not Path(address).exists()
    assert (
        place / f"service-{PROTOCOL}.lock"
    ).stat().st_size == 0  # the next one may start at once


@pytest.mark.slow
def test_it_leaves_in_the_middle_of_indexing(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILL_ROUTER_CACHE", str(tmp_path))
    assert ensure_running(30) is not None
    assert ask({"request": "Is the bundled roster indexed yet?"}, 0.5) is None
    (pid,) = _services(place)
    os.kill(pid, signal.SIGTERM)
    until(lambda: not _services(place), 30)
    assert not list(tmp_path.glob("*/*.npz"))


def test_one_that_died_is_not_started_again_at_once(place: Path) -> None:
    started = time.monotonic()
    assert ensure_running(30, arguments=("--roster", "/no/such/roster")) is None
    assert time.monotonic() - started < 20
    assert "does not exist" in (place / f"service-{PROTOCOL}.log").read_text()
    again = time.monotonic()
    assert ensure_running(0.2) is None
    assert time.monotonic() - again < 2 and not _services(place)


def test_without_the_server_package_nothing_is_started(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_NEEDED", ("no_such_package",))
    assert ensure_running(0.1) is None
    assert not (place / f"service-{PROTOCOL}.lock").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--port", "0", "--host", "0.0.0.0"], "token is required"),
        (["--port", "0", "--roster", "/no/such"], "does not exist"),
        (["--port", "0", "--decision-log", "/no/such/folder/log"], "cannot be opened"),
        (["--port", "0", "--token-file", "/no/such/file"], "cannot be read"),
        (["--socket", "/tmp/" + "x" * 200], "too long"),
        (["--socket", "/etc/hostname"], "no socket"),
        (["--port", "0", "--heads", "/no/such/heads.json"], "cannot be read"),
    ],
)
def test_a_wrong_setup_is_one_line(arguments: list[str], says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "router.service", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert says in done.stderr and len(done.stderr.strip().splitlines()) == 1
