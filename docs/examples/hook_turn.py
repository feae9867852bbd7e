"""What Claude Code does at every turn: give `skill-router hook` the prompt, read its answer."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import roster

bundled = Path(roster.__file__).parent / "bundled" / "documents"
with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(bundled, Path(folder, ".claude", "skills"))
    for prompt in ("Turn the outline in talk.md into a new slide deck.", "/compact"):
        event = {"hook_event_name": "UserPromptSubmit", "cwd": folder, "prompt": prompt}
        done = subprocess.run(
            [sys.executable, "-m", "router.start", "hook", "--agent", "claude", "--no-service"],
            input=json.dumps(event),
            capture_output=True,
            text=True,
            env={
                **os.environ,
                # Your own skills in ~/.claude/skills would be found too.
                "CLAUDE_CONFIG_DIR": folder + "/none",
                # The first run indexes the skills; a turn would not wait for that.
                "SKILL_ROUTER_HOOK_SECONDS": "90",
            },
        )
        print(f"{prompt!r} -> exit {done.returncode}, {done.stdout.strip() or 'nothing'}")
