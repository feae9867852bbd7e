"""An Anthropic client whose requests carry the suggestion.

Runs against a stand-in for the API on the loopback interface; leave `base_url` and `api_key` out
and it talks to the real one.
"""

import sys
from pathlib import Path

import anthropic

sys.path.insert(0, str(Path(__file__).parent))
from loopback import loopback

from roster import Roster
from router import Router
from router.middleware.anthropic_messages import MessagesRouter

roster = Roster.bundled()
router = MessagesRouter(Router.load(roster), placement="turn")

with loopback() as server:
    client = router.wrap(anthropic.Anthropic(base_url=server.url, api_key="none"))
    with client.messages.stream(
        model="claude-haiku-4-5",
        max_tokens=1024,
        system=[
            {
                "type": "text",
                "text": f"<available_skills>\n{roster.prompt()}\n</available_skills>",
                "cache_control": {"type": "ephemeral"},
            }
        ],
        messages=[
            {"role": "user", "content": "Turn the outline in talk.md into a new slide deck."}
        ],
    ) as stream:
        print("the agent answers:", stream.get_final_text())

print("the router said:", str(router.last).splitlines()[0])
for block in server.requests[0]["messages"][0]["content"]:
    print("the provider got:", block["text"].strip())
