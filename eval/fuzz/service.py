"""A resident service in this process, for targets that speak to one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eval.fuzz.light import HashEncoder, WordJudge, light_heads
from router.pipeline import Router
from router.service.app import Service
from router.service.config import ServiceConfig
from router.service.server import ServiceServer
from router.service.source import default_source
from router.systemone.rosters import RosterJudges
from router.systemone.serving import SystemOneServer
from router.thresholds import Thresholds

MAX_BODY = 65_536


@dataclass(frozen=True)
class Running:
    """A service that runs.

    Attributes:
        host: Its address.
        port: Its port.
    """

    host: str
    port: int

    @property
    def address(self) -> str:
        """Its URL."""
        return f"http://{self.host}:{self.port}"


def write_skills(folder: Path) -> None:
    """Two skills on disk."""
    for name, description in (("kite-repair", "Mend torn kites."), ("bread", "Bake bread.")):
        (folder / name).mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nDo it.\n"
        (folder / name / "SKILL.md").write_text(text, encoding="utf-8")


@contextmanager
def running(place: Path) -> Iterator[Running]:
    """A service on a free loopback port for skills below a folder."""
    write_skills(place / "skills")
    config = ServiceConfig(
        port=0, allowed_roots=(place,), max_body=MAX_BODY, body_s=1.0, watch_s=0.0
    )
    service = Service(
        config,
        lambda roster: Router(roster, WordJudge(), Thresholds()),
        default_source(str(place / "skills")),
        system_one=SystemOneServer(RosterJudges(HashEncoder(), light_heads())),
    )
    server = ServiceServer(service)
    host, _, port = server.addresses[0].removeprefix("http://").rpartition(":")
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield Running(host, int(port))
    finally:
        server.stop()
        thread.join(30)
