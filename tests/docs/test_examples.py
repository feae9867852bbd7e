"""Every example of the documentation runs and prints what its page says it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
SHOWS = {
    "anthropic_messages": ["the agent answers: Done.", "<skill_relevance>"],
    "disclosure": ["did you mean pptx-author", "is loaded already", "summarized"],
    "hook_turn": ["exit 0, {", "'/compact' -> exit 0, nothing"],
    "langchain_agent": ["tool: Skill pptx-author:", "ai: Here is the deck."],
    "mcp_client": ["load_skill: Skill pptx-author:", "search_skills: ["],
    "openai_chat": ["<skill_relevance>"],
    "prefix_cache": ["no router", "system", "turn"],
}


# The slow ones load a router each; what they do is tested piece by piece elsewhere too.
_SLOW = {"prefix_cache", "mcp_client", "langchain_agent"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in _SLOW)) for name in SHOWS],
)
def test_the_example_runs(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    for words in SHOWS[name]:
        assert words in done.stdout


@pytest.mark.parametrize("name", SHOWS)
def test_a_page_names_the_example(name: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"docs/examples/{name}.py" in page for page in pages)
