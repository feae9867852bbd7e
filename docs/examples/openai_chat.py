"""Chat messages in OpenAI's form, before and after. Needs no SDK."""

import json

from roster import Roster
from router import Router
from router.middleware.openai_chat import ChatRouter

roster = Roster.bundled()
router = ChatRouter(Router.load(roster))

params = {
    "model": "any",
    "messages": [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Turn the outline in talk.md into a new slide deck."},
    ],
}
print(json.dumps(router.prepare(params)["messages"], indent=2))
