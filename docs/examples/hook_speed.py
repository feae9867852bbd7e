"""Times `skill-router hook` from start to exit while the service is up.

The command is run as an agent runs it, once a turn. The service is one of its own, in a folder of
its own, and is stopped at the end.
"""

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import roster
from router.hook.request import suggest_request
from router.service.client import ask, ensure_running
from router.service.place import runtime_folder, socket_path

RUNS = 60
bundled = Path(roster.__file__).parent / "bundled"
command = [str(Path(sys.executable).parent / "skill-router"), "hook", "--agent", "claude"]

with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(bundled, Path(folder, ".claude", "skills"))
    os.environ["CLAUDE_CONFIG_DIR"] = folder + "/none"
    os.environ["SKILL_ROUTER_RUNTIME"] = folder + "/run"
    if ensure_running(30, arguments=("--idle", "120")) is None:
        sys.exit("the service does not start; run skill-router serve to see why")
    prompt = "Turn the outline in talk.md into a new slide deck."
    payload = {"prompt": prompt, "cwd": folder}
    # The skills are indexed once, before anything is timed.
    question = suggest_request(payload, "claude") or {}
    if all(ask(question, 60) is None for _ in range(10)):
        sys.exit("the service does not answer; run skill-router serve to see why")
    event = json.dumps(payload).encode()
    times, spoke = [], 0
    for run in range(RUNS + 5):
        started = perf_counter()
        done = subprocess.run(command, input=event, capture_output=True)
        if run >= 5:  # the first ones warm the machine's own caches
            times.append((perf_counter() - started) * 1000)
            spoke += bool(done.stdout)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(socket_path(runtime_folder()))
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    os.kill(int.from_bytes(raw[:4], sys.byteorder), signal.SIGTERM)

times.sort()
print(
    f"{RUNS} runs, {spoke} with a suggestion: p50 {statistics.median(times):.0f} ms, "
    f"p95 {times[int(RUNS * 0.95)]:.0f} ms"
)
