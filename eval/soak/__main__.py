"""The command: ``python -m eval.soak --seconds 600``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.files import write_whole
from eval.soak.clients import Seen, UnixConnection, ask_until
from eval.soak.process import ServiceProcess
from eval.soak.skills import ChangingSkills
from eval.soak.verdict import verdict

_RECOVERY_S = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, print a table, and return 0 when nothing but clean answers and errors was seen."""
    parser = argparse.ArgumentParser(prog="python -m eval.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="length of the run")
    parser.add_argument("--clients", type=int, default=16, help="requests in flight")
    parser.add_argument("--seed", type=int, default=1, help="chooses changes and requests")
    parser.add_argument("--json", type=Path, help="write the figures as JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        found = soak(Path(folder), options.seconds, options.clients, options.seed)
    for line in _table(found):
        print(line)
    if options.json:
        write_whole(options.json, json.dumps(found, indent=2) + "\n")
    if not all(found["met"].values()):
        print(f"\nthe end of the service's log:\n{found['service_log']}", file=sys.stderr)
        return 1
    return 0


def soak(place: Path, seconds: float, clients: int, seed: int = 1) -> dict[str, Any]:
    """Run the service under load and faults.

    Args:
        place: An empty folder; its path must be short, for a socket lies in it.
        seconds: Length of the run.
        clients: Clients that ask without a pause.
        seed: Chooses changes and requests.

    Returns:
        What was seen; ``met`` says which demands were met.
    """
    skills = ChangingSkills(place / "skills", seed)
    service = ServiceProcess(place, skills.folder)
    seen, stop = Seen(), threading.Event()
    service.start()
    threads = [
        threading.Thread(target=ask_until, args=(service.socket, seed * 1000 + n, stop, seen))
        for n in range(clients)
    ]
    try:
        for thread in threads:
            thread.start()
        _disturb(service, skills, seconds)
        stop.set()
        for thread in threads:
            thread.join()
        recovered_s = _recovery(service, skills.settle())
        alive = service.alive()
    finally:
        stop.set()
        if service.alive():
            service.kill(signal.SIGTERM)
    return verdict(service, skills, seen, recovered_s if alive else None, seconds)


def _disturb(service: ServiceProcess, skills: ChangingSkills, seconds: float) -> None:
    """Once a second a change on disk; now and then a full disk; now and then a death."""
    began = time.monotonic()
    every = max(20.0, seconds / 6)
    deaths = 0
    while (now := time.monotonic() - began) < seconds:
        skills.change()
        service.fill_disk(int(now) % 15 in (6, 7, 8, 9))
        service.sample()
        # The last stretch is a long one, for the memory to be watched.
        if now > (deaths + 1) * every and now < seconds * 0.55:
            deaths += 1
            service.restart(signal.SIGKILL if deaths % 2 else signal.SIGTERM)
        time.sleep(max(0.0, 1.0 - (time.monotonic() - began - now)))
    service.fill_disk(False)


def _recovery(service: ServiceProcess, digest: str) -> float | None:
    """Seconds until the service serves what is on disk, without a complaint; None if never."""
    began = time.monotonic()
    while (took := time.monotonic() - began) < _RECOVERY_S:
        connection = UnixConnection(service.socket)
        try:
            connection.request("GET", "/healthz")
            health = json.loads(connection.getresponse().read())
            if health["status"] == "ok" and health["rosters"][-1]["digest"] == digest:
                return round(took, 1)
        finally:
            connection.close()
        time.sleep(0.2)
    return None


_FIGURES = (
    "starts",
    "rosters_served",
    "slowest_s",
    "lost_outside_restarts",
    "recovered_s",
    "resident_mib",
    "memory_growth",
    "log_lines",
    "torn_log_lines",
    "leftovers",
)


def _table(found: dict[str, Any]) -> list[str]:
    lines = [f"{found['requests']:,} requests in {found['seconds']:g} s"]
    for group in ("outcomes", "faults", "changes"):
        lines += [f"{group}:"] if found[group] else []
        lines += [f"  {count:>8,}  {kind}" for kind, count in sorted(found[group].items())]
    for key in _FIGURES:
        lines.append(f"{key.replace('_', ' ')}: {found[key]}")
    lines += [f"{'met' if met else 'NOT met'}: {name}" for name, met in found["met"].items()]
    return lines


if __name__ == "__main__":
    sys.exit(main())
