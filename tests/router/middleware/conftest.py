"""A router that goes by keywords, and the loopback server of the examples."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from roster import Roster
from router import Router
from tests.router.middleware.keywords import keyword_router

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def example(name: str) -> ModuleType:
    """A file of docs/examples as a module."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def asked(pair: Roster) -> Router:
    """Suggests kite-repair for kites and bread-bake for bread."""
    return keyword_router(pair, {"kite": "kite-repair", "bread": "bread-bake"})


@pytest.fixture
def server() -> Iterator[Any]:
    with example("loopback").loopback() as running:
        yield running


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio alone."""
    return "asyncio"
