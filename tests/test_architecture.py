"""The folder layout keeps its promises."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {"roster": {"roster"}, "router": {"roster", "router"}}


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("package", ["roster", "router"])
def test_imports_point_one_way(package: str) -> None:
    bad = []
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                if top in ("roster", "router", "eval") and top not in MAY_IMPORT[package]:
                    bad.append(f"{file.relative_to(ROOT)}:{node.lineno} imports {name}")
    assert bad == []


def test_importing_the_router_is_light() -> None:
    code = (
        "import sys, router; "
        "print([m for m in ('torch', 'transformers', 'matplotlib', 'sklearn', 'scipy', "
        "'onnxruntime', 'sentence_transformers', 'eval') if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_the_requests_library_is_not_shadowed() -> None:
    assert not (ROOT / "requests" / "__init__.py").exists()
    assert "site-packages" in run("import requests; print(requests.__file__)")
