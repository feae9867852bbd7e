"""Services that run inside the tests: real uvicorn, real sockets, a judge that counts words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from roster import Roster, Skill
from roster.layers import Layer
from router import Gate, Ranking, Reread, Router, Thresholds, Turn
from router.service.app import Service
from router.service.config import DecisionLogConfig, ServiceConfig
from router.service.decisions import DecisionLog
from router.service.metrics import Metrics
from router.service.server import ServiceServer
from router.service.source import default_source
from router.service.tracing import Tracing


class WordJudge:
    """Prefers the skill whose name and description share most words with the request.

    A request that says "wait" is not ranked before `gate` is opened.
    """

    def __init__(self, gate: threading.Event) -> None:
        self.gate = gate

    def rank(self, turn: Turn, roster: Roster) -> tuple[Ranking, Gate]:
        if "wait" in turn.request:
            self.gate.wait(20)
        shared = {skill.name: _shared(turn, skill) for skill in roster}
        total = sum(shared.values()) + len(shared)
        order = sorted(shared, key=lambda name: (-shared[name], name))
        entries = tuple((name, (shared[name] + 1) / total) for name in order)
        return Ranking(entries=entries), Gate(
            acts_on_system=0.9, documented_procedure=0.9, prose_suffices=0.1
        )

    def reread(self, turn: Turn, candidates: Sequence[Skill]) -> Reread:
        fits = {skill.name: min(1.0, _shared(turn, skill) / 2) for skill in candidates}
        return Reread(choice=fits, fits=fits)


def _shared(turn: Turn, skill: Skill) -> int:
    known = set(f"{skill.name.replace('-', ' ')} {skill.description}".lower().split())
    return len(known & set(turn.request_text.lower().split()))


@dataclass
class Running:
    """A service that runs.

    Attributes:
        server: Its server.
        service: The service.
        address: Where it listens.
        gate: Opens for the requests that wait.
        thread: What it runs in.
    """

    server: ServiceServer
    service: Service
    address: str
    gate: threading.Event
    thread: threading.Thread

    def client(self, **options: Any) -> httpx.Client:
        if self.address.startswith("http://"):
            return httpx.Client(base_url=self.address, timeout=20, **options)
        transport = httpx.HTTPTransport(uds=self.address)
        return httpx.Client(base_url="http://localhost", transport=transport, timeout=20, **options)

    def post(self, body: dict[str, Any], path: str = "/v1/suggest") -> httpx.Response:
        with self.client() as client:
            return client.post(path, json=body)

    def get(self, path: str) -> httpx.Response:
        with self.client() as client:
            return client.get(path)


@contextmanager
def running(
    roster: Path,
    make: Callable[[Roster], Router] | None = None,
    log: DecisionLogConfig | None = None,
    tracing: Tracing | None = None,
    warm: tuple[Layer, ...] | None = None,
    **limits: Any,
) -> Iterator[Running]:
    """A service for a roster, on a free TCP port unless `limits` say otherwise."""
    gate = threading.Event()
    if "socket" not in limits:
        limits.setdefault("port", 0)
    config = ServiceConfig(**{"watch_s": 0.0, **limits})
    metrics = Metrics()

    def router(of: Roster) -> Router:
        return Router(of, WordJudge(gate), Thresholds())

    service = Service(
        config,
        make or router,
        default_source(str(roster)),
        DecisionLog(log, metrics.unlogged) if log else None,
        tracing,
        metrics,
        warm=warm,
    )
    server = ServiceServer(service)
    ready = threading.Event()
    address = server.addresses[0]
    thread = threading.Thread(target=server.run, args=(ready.set,))
    thread.start()
    try:
        assert ready.wait(10)
        yield Running(server, service, address, gate, thread)
    finally:
        gate.set()
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


def write_skill(folder: Path, name: str, description: str, extra: str = "") -> Path:
    """A SKILL.md, replaced in one step as editors do."""
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: {description}\n{extra}---\n# {name}\n\nDo it.\n"
    draft = file.with_suffix(".new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)
    return file
