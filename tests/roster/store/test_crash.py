"""kill -9 at any moment leaves the old state or the new one, and the check proves it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roster.store import Store

POINTS = 60

# Forks one worker a line, so that a killed one costs no start of Python. A worker stages and
# activates one version after another and says so after each step.
SERVER = """
import os, sys
from roster.store import SkillVersion, Staging, Store

def work(path, version):
    with Store(path) as store:
        while True:
            text = f"Do {version}."
            record = SkillVersion(name="opening", version=str(version), instructions=text)
            store.skills.stage(Staging(record=record, source_sha256="0" * 64))
            os.write(1, f"staged {version}\\n".encode())
            store.skills.activate("opening", str(version), required={"a"},
                                  evaluate=lambda candidate, baseline: {"a": True})
            os.write(1, f"activated {version}\\n".encode())
            version += 1

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.write(1, f"pid {os.getpid()}\\n".encode())
        work(sys.argv[1], int(line))
    os.waitpid(child, 0)
    os.write(1, b"dead\\n")
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path / "store.sqlite")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    yield process
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.wait(timeout=20)
    process.stdout.close()


def test_kill_at_random_points(server: subprocess.Popen[str], tmp_path: Path) -> None:
    assert server.stdin is not None and server.stdout is not None
    output = server.stdout
    rng = random.Random(20_240)
    staged, activated, steps = set[str](), "", set[str]()
    first, pace = 1, 0.04
    for _ in range(POINTS):
        server.stdin.write(f"{first}\n")
        child = int(server.stdout.readline().removeprefix("pid "))
        # After some steps, however slow the machine, and then anywhere within one.
        lines, started = [], time.monotonic()
        for _ in range(rng.choice((0, 1, 2, 3))):
            lines.append(output.readline().strip())
            pace = time.monotonic() - started
            started = time.monotonic()
        time.sleep(rng.uniform(0.0, min(pace, 0.2)))
        os.kill(child, signal.SIGKILL)
        lines += iter(lambda: output.readline().strip(), "dead")
        for line in lines:
            step, _, version = line.partition(" ")
            if step == "staged":
                staged.add(version)
            else:
                activated = version
        with Store(tmp_path / "store.sqlite") as store:
            assert store.check() == []
            present = {row.version for row in store.skills.versions("opening")}
            active = [skill.version for skill in store.snapshot().skills]
        # Everything that was acknowledged is there; beyond it at most the one step under way.
        assert staged <= present and len(present - staged) <= 1
        newest = max((int(version) for version in present), default=0)
        assert active in ([activated] if activated else [], [str(newest)])
        staged, activated = present, active[0] if active else ""
        steps.add("staged" if activated != str(newest) else "activated")
        first = newest + 1
    # The kills met both kinds of moment.
    assert steps == {"staged", "activated"}
    assert len(staged) > POINTS / 2
