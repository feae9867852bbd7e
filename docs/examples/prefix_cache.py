"""What each placement of the block costs in cached tokens: a conversation of 20 turns, replayed.

An agent with the bundled roster in its system prompt talks for 20 turns to a server that accounts
for prefix caching. It marks the roster and the newest message, as agents with caching do. Five of
the turns load a skill, so that they take two requests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic

sys.path.insert(0, str(Path(__file__).parent))
from loopback import LoopbackServer, loopback

from roster import Roster
from router.middleware.anthropic_messages import MessagesRouter

TURNS = (
    "Turn the outline in talk.md into a new slide deck with our template.",
    "Thanks! What did you use for the title font?",
    "Merge the three signed PDF contracts into one file and number the pages.",
    "What is a monad?",
    "The checkout page got slow after Tuesday's release; put the previous version back in prod.",
    "Is it up again?",
    "Find out which commit broke the login test between v4.1 and v4.2.",
    "Explain what a merge base is.",
    "Write the release notes for 4.2 from the merged pull requests.",
    "Make them a bit friendlier.",
    "Book a room for eight people on Thursday at ten and invite the team.",
    "How many people have said yes?",
    "Transcribe the recording of the meeting.",
    "Who talked the most?",
    "Translate the summary into German.",
    "What is the German word for roadmap?",
    "Resize the screenshots in docs/img to 1200 pixels.",
    "Send the customers in overdue.csv a reminder about their invoices.",
    "Nice. Anything else I should look at?",
    "Scan the repository for leaked credentials.",
)
LOADING = frozenset({0, 4, 8, 12, 16})
TOOL = {
    "name": "skill_view",
    "description": "Load a skill.",
    "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}},
}


def replay(server: LoopbackServer, client: anthropic.Anthropic, roster: Roster) -> list[Any]:
    """Talk for 20 turns; the usage of each request."""
    index = f"<available_skills>\n{roster.prompt()}\n</available_skills>"
    system = [{"type": "text", "text": index, "cache_control": {"type": "ephemeral"}}]
    messages: list[dict[str, Any]] = []
    usages = []
    for turn, text in enumerate(TURNS):
        messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        again = turn in LOADING
        while True:
            server.reply = _calls(turn) if again else _says(turn)
            response = client.messages.create(
                model="claude-haiku-4-5",
                max_tokens=256,
                system=system,
                tools=[TOOL],
                messages=_marked(messages),
            )
            usages.append(response.usage)
            content = [block.to_dict() for block in response.content]
            messages.append({"role": "assistant", "content": content})
            if not again:
                break
            result = {
                "type": "tool_result",
                "tool_use_id": f"call_{turn}",
                "content": "Steps. " * 99,
            }
            messages.append({"role": "user", "content": [result]})
            again = False
    return usages


def _marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation with a breakpoint at its end."""
    *before, last = messages
    *blocks, end = last["content"]
    marked = {**end, "cache_control": {"type": "ephemeral"}}
    return [*before, {**last, "content": [*blocks, marked]}]


def _calls(turn: int) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    given = {"name": f"skill-{turn}"}
    call = {"type": "tool_use", "id": f"call_{turn}", "name": "skill_view", "input": given}
    return lambda body: [call]


def _says(turn: int) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    return lambda body: [{"type": "text", "text": f"Answer {turn}. " + "It is done. " * 40}]


def compare(router: Any) -> dict[str, dict[str, int]]:
    """Totals of a replay without the router and with each placement."""
    totals = {}
    roster = Roster.bundled()
    for arm in ("no router", "system", "turn"):
        with loopback() as server:
            client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)
            if arm != "no router":
                client = MessagesRouter(router, placement=arm).wrap(client)  # type: ignore[arg-type]
            usages = replay(server, client, roster)
        read = sum(usage.cache_read_input_tokens or 0 for usage in usages)
        written = sum(usage.cache_creation_input_tokens or 0 for usage in usages)
        fresh = sum(usage.input_tokens for usage in usages)
        totals[arm] = {"requests": len(usages), "read": read, "written": written, "fresh": fresh}
    return totals


def main() -> None:
    """Print the totals of the three replays."""
    from router import Router

    totals = compare(Router.load(Roster.bundled()))
    print(
        f"{'placement':<12}{'requests':>9}{'read':>10}{'written':>10}{'uncached':>10}{'cached':>9}"
    )
    for arm, t in totals.items():
        share = t["read"] / (t["read"] + t["written"] + t["fresh"])
        print(
            f"{arm:<12}{t['requests']:>9}{t['read']:>10,}{t['written']:>10,}{t['fresh']:>10,}"
            f"{share:>9.1%}"
        )


if __name__ == "__main__":
    main()
