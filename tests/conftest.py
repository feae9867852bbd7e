"""Fixtures that every test folder uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from roster import Roster, Skill
from router import Router

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the user's cache."""
    before = os.environ.get("SKILL_ROUTER_CACHE")
    os.environ["SKILL_ROUTER_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["SKILL_ROUTER_CACHE"]
    else:
        os.environ["SKILL_ROUTER_CACHE"] = before


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of third-party material, which a user's machine does not have."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared (third-party rosters and requests), which is not here")
    return SHARED


@pytest.fixture(scope="session")
def bundled() -> Roster:
    return Roster.bundled()


@pytest.fixture(scope="session")
def router(bundled: Roster) -> Router:
    """The router as a user loads it, on the bundled roster."""
    return Router.load(bundled)


@pytest.fixture
def pair() -> Roster:
    """Two skills that nobody confuses."""
    return Roster.from_skills(
        [
            Skill(
                name="kite-repair",
                description="Mend torn kite sails and broken spars.",
                body="Glue the spar, patch the sail, let it dry for a night.",
            ),
            Skill(
                name="bread-bake",
                description="Bake sourdough bread from a starter.",
                body="Feed the starter, knead the dough, bake at 230 degrees.",
                requires=("oven",),
            ),
        ]
    )
