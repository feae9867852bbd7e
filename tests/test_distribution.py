"""The wheel, installed into an empty environment; the licences of what comes along."""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from eval.licences import WEIGHTS, licences, page
from eval.licences import main as licences_command
from tests.conftest import ROOT

LEARNED = {".onnx", ".safetensors", ".npz", ".bin", ".pt", ".pkl"}


def test_the_licence_of_every_installed_dependency_is_known_and_listed() -> None:
    assert licences_command(["--check", *paths()]) == 0


def paths() -> list[str]:
    return ["--project", str(ROOT / "pyproject.toml"), "--page", str(ROOT / "docs/licences.md")]


def test_every_direct_dependency_is_found_with_its_version() -> None:
    found = {one.name: one for one in licences(ROOT / "pyproject.toml")}
    assert {"numpy", "pydantic", "onnxruntime", "tokenizers", "filelock"} <= found.keys()
    assert found["numpy"].wanted_by == "runtime"
    assert all(one.version[0].isdigit() for one in found.values())
    strong = [one for one in found.values() if "GPL" in one.licence and "LGPL" not in one.licence]
    assert strong == []


def test_a_package_that_is_not_listed_fails_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "licences.md"
    lines = page(licences(ROOT / "pyproject.toml")).splitlines()
    listed.write_text("\n".join(line for line in lines if not line.startswith("| numpy |")))
    project = ["--project", str(ROOT / "pyproject.toml")]
    assert licences_command(["--check", *project, "--page", str(listed)]) == 1
    assert "lacks numpy" in capsys.readouterr().err
    assert licences_command([*project, "--page", str(listed)]) == 0
    assert licences_command(["--check", *project, "--page", str(listed)]) == 0


def test_the_licence_of_all_learned_numbers_is_listed() -> None:
    patterns = [where + "*" if where.endswith("/") else where for where, _, _ in WEIGHTS]
    shipped = [
        str(file.relative_to(ROOT))
        for folder in ("roster", "router", "eval")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in LEARNED or (file.parent.name == "weights" and file.suffix == ".json")
    ]
    assert shipped
    assert [f for f in shipped if not any(fnmatch.fnmatch(f, p) for p in patterns)] == []


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "SKILL_ROUTER_CACHE": str(tmp_path / "c")}

    def run(*command: str | Path, where: Path = tmp_path) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=where,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # Built from what git knows, as a clone has it: nothing that lies about can slip in.
    clone = tmp_path / "clone"
    run("git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), clone)
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", clone)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"roster", "router", "eval"}
    assert not [name for name in names if "/tests/" in name or name.endswith((".pkl", ".pt"))]

    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    run(python, "-m", "pip", "check")
    command = tmp_path / "venv" / "bin" / "skill-router"
    asked = "Turn the outline in talk.md into a new slide deck with our template"
    answer = json.loads(run(command, "suggest", asked, "--json"))
    assert answer["reason"] in ("suggested", "fits", "gate")
    assert answer["ranking"][0][0] == "pptx-author"
    assert "the agent reads:" in run(command, "demo")
    kept = run(python, "-c", "import importlib.util as u; print(u.find_spec('torch'))")
    assert kept.strip() == "None"
    # Without their extra, commands say what to install.
    done = subprocess.run([command, "mcp", "--bundled"], capture_output=True, text=True,
                          env=environment, cwd=tmp_path, timeout=60)  # fmt: skip
    assert done.returncode == 1 and "pip install" in done.stderr
