"""Load on the resident service, measured with wrk: ``python -m eval.service_load``.

Every request is another text, so that nothing is answered from memory. wrk keeps a fixed number of
connections busy and measures each answer; the service's own /metrics gives its memory.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from eval.paths import requests_folder

BAR_PER_SECOND = 120.0
BAR_P99_MS = 150.0
BAR_MEMORY = 0.05
_WARM_REQUESTS = 5_000

_LUA = """
local bodies = {}
for line in io.lines(%s) do bodies[#bodies + 1] = line end
local headers = { ["Content-Type"] = "application/json" }
local sent = %d
request = function()
  sent = sent + 1
  local body = bodies[sent %% #bodies + 1]:gsub("@", tostring(sent), 1)
  return wrk.format("POST", "/v1/suggest", headers, body)
end
"""


def main() -> int:
    """Measure, print one JSON object, and return 0 when every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m eval.service_load", description=__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="length of the speed run")
    parser.add_argument("--connections", type=int, default=4, help="requests in flight")
    parser.add_argument(
        "--requests", type=int, default=0, help="then watch memory over so many requests"
    )
    parser.add_argument("--roster", help="another roster than the bundled one")
    parser.add_argument("--workers", type=int, help="threads of the service that route")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not installed; apt install wrk, or brew install wrk")
    with (
        tempfile.TemporaryDirectory() as folder,
        _service(arguments.roster, arguments.workers) as address,
    ):
        bodies = Path(folder) / "bodies.jsonl"
        bodies.write_text("\n".join(_bodies()) + "\n", encoding="ascii")
        _wrk(address, bodies, 3, arguments.connections, 0)
        found: dict[str, Any] = {
            "cores": os.cpu_count(),
            "load_before": round(os.getloadavg()[0], 2),
            **_speed(address, bodies, arguments.seconds, arguments.connections),
        }
        if arguments.requests:
            found["memory"] = _memory(address, bodies, arguments.requests, arguments.connections)
    found["met"] = _verdicts(found)
    print(json.dumps(found, indent=2))
    return 0 if all(found["met"].values()) else 1


def _speed(address: str, bodies: Path, seconds: int, connections: int) -> dict[str, Any]:
    """One run of wrk, and the processor time a suggestion took: that one no neighbour spoils."""
    before = _counted(address)
    speed = _wrk(address, bodies, seconds, connections, 10**6)
    after = _counted(address)
    cpu_ms = 1000.0 * (after.cpu_s - before.cpu_s) / max(after.served - before.served, 1)
    return {"speed": speed, "cpu_ms_per_suggestion": round(cpu_ms, 2)}


def _verdicts(found: dict[str, Any]) -> dict[str, bool]:
    speed = found["speed"]
    met = {
        "no_errors": speed["errors"] == 0,
        "suggestions_per_second": speed["per_second"] >= BAR_PER_SECOND,
        "p99_ms": speed["p99_ms"] <= BAR_P99_MS,
    }
    if "memory" in found:
        met["memory_flat"] = abs(found["memory"]["drift"]) <= BAR_MEMORY
    return met


def _bodies() -> Iterator[str]:
    """JSON bodies of labelled turns, with a placeholder that makes each request another one."""
    for name in ("bundled.jsonl", "gate.jsonl"):
        for line in (requests_folder() / name).read_text(encoding="utf-8").splitlines():
            turn = json.loads(line)
            body: dict[str, Any] = {"request": turn["text"].replace("@", " ") + " (no. @)"}
            if turn.get("recent_context"):
                body["recent_context"] = turn["recent_context"]
            yield json.dumps(body)


@contextmanager
def _service(roster: str | None, workers: int | None) -> Iterator[str]:
    """A service in a process of its own, on a free port; gives its address."""
    command = [sys.executable, "-m", "router.service", "--port", "0"]
    if roster:
        command += ["--roster", roster]
    if workers:
        command += ["--workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("listening on "):
                raise SystemExit("the service did not start; see above")
            address = line.removeprefix("listening on ").strip()
            _post(address, {"request": "is anybody there"})
            yield address
        finally:
            process.terminate()


def _post(address: str, body: dict[str, Any]) -> None:
    request = urllib.request.Request(
        f"{address}/v1/suggest",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    for _ in range(60):  # a large roster is indexed first
        try:
            with urllib.request.urlopen(request, timeout=60):
                return
        except OSError:
            time.sleep(1.0)
    raise SystemExit("the roster was not ready within ten minutes")


def _wrk(
    address: str, bodies: Path, seconds: int, connections: int, start: int
) -> dict[str, float]:
    """Run wrk with one thread and read what it prints."""
    script = bodies.with_suffix(".lua")
    script.write_text(_LUA % (json.dumps(str(bodies)), start), encoding="utf-8")
    printed = subprocess.run(
        [
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{seconds}s",
            "--timeout",
            "10s",
            "--latency",
            "-s",
            str(script),
            address,
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    errors = sum(int(n) for n in re.findall(r"Non-2xx or 3xx responses: (\d+)", printed))
    errors += sum(int(n) for n in re.findall(r"(?:connect|read|write|timeout) (\d+)", printed))
    return {
        "connections": connections,
        "per_second": float(_first(r"Requests/sec:\s+([\d.]+)", printed)),
        "p50_ms": _ms(_first(r"\s50%\s+(\S+)", printed)),
        "p90_ms": _ms(_first(r"\s90%\s+(\S+)", printed)),
        "p99_ms": _ms(_first(r"\s99%\s+(\S+)", printed)),
        "requests": int(_first(r"(\d+) requests in", printed)),
        "errors": errors,
    }


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise SystemExit(f"wrk printed something else than expected:\n{text}")
    return match[1]


def _ms(text: str) -> float:
    for unit, factor in (("us", 0.001), ("ms", 1.0), ("s", 1000.0), ("m", 60_000.0)):
        if text.endswith(unit):
            return round(float(text.removesuffix(unit)) * factor, 3)
    raise SystemExit(f"wrk printed a time without a unit: {text}")


def _memory(address: str, bodies: Path, requests: int, connections: int) -> dict[str, Any]:
    """Resident memory over many requests, from when the service is warm to the last."""
    samples: list[tuple[int, float]] = []
    begun = _counted(address).served
    while not samples or samples[-1][0] < requests:
        done = samples[-1][0] if samples else 0
        _wrk(address, bodies, 15, connections, 10**7 + done)
        now = _counted(address)
        samples.append((now.served - begun, now.resident / 2**20))
    warm = next((mib for served, mib in samples if served >= _WARM_REQUESTS), samples[0][1])
    return {
        "requests": samples[-1][0],
        "warm_mib": round(warm, 1),
        "end_mib": round(samples[-1][1], 1),
        "most_mib": round(max(mib for _, mib in samples), 1),
        "drift": round(samples[-1][1] / warm - 1.0, 4),
        "samples": [[served, round(mib, 1)] for served, mib in samples],
    }


class _Counted(NamedTuple):
    served: int
    resident: float
    cpu_s: float


def _counted(address: str) -> _Counted:
    """Suggestions so far, resident bytes, and processor seconds of the service."""
    with urllib.request.urlopen(f"{address}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    counts = re.findall(r"^skill_router_suggestions_total\{.*\} (\S+)$", text, re.MULTILINE)
    return _Counted(
        int(sum(float(count) for count in counts)),
        float(_first(r"(?m)^process_resident_memory_bytes (\S+)$", text)),
        float(_first(r"(?m)^process_cpu_seconds_total (\S+)$", text)),
    )


if __name__ == "__main__":
    sys.exit(main())
