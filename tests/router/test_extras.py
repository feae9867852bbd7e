"""What an installation without the extras says, and what nobody is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

HIDING = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
sys.argv = ["skill-router", *{arguments!r}]
from router.start import main
main()
"""


def run_without(
    hidden: set[str], arguments: list[str], home: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HIDING.format(hidden=hidden, arguments=arguments)],
        cwd=ROOT,
        env={**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )


EVERYTHING = {
    "anthropic", "jinja2", "langchain", "matplotlib", "mcp", "prometheus_client", "starlette",
    "tenacity", "torch", "typesafe_sdk", "uvicorn", "sentence_transformers", "transformers",
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["serve"], "serve"),
        (["mcp"], "mcp"),
        (["suggest", "x", "--encoder", "minilm"], "train"),
        (["suggest", "x", "--judge", "claude"], "anthropic"),
    ],
)
def test_a_missing_extra_is_one_line(tmp_path: Path, arguments: list[str], extra: str) -> None:
    done = run_without(EVERYTHING, arguments, tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"skill-router[{extra}]" in done.stderr


def test_help_works_without_any_extra(tmp_path: Path) -> None:
    done = run_without(EVERYTHING, ["--help"], tmp_path)
    assert done.returncode == 0 and "serve" in done.stdout


def test_routing_leaves_no_telemetry(tmp_path: Path) -> None:
    done = run_without(EVERYTHING, ["suggest", "merge two pdfs"], tmp_path)
    assert done.returncode == 0
    assert [str(p) for p in tmp_path.rglob("*") if "onnxruntime" in str(p)] == []
