"""Asks `skill-router mcp` with the official client."""

import asyncio
import sys

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

server = StdioServerParameters(
    command=sys.executable, args=["-m", "router.start", "mcp", "--bundled"]
)


async def main() -> None:
    """Suggest, load, and suggest again."""
    async with Client(stdio_client(server)) as client:
        request = {"request": "Turn the outline in talk.md into a new slide deck."}
        first = await client.call_tool("suggest_skill", request)
        print(
            "suggest_skill:", first.structured_content["name"], first.structured_content["reason"]
        )
        loaded = await client.call_tool("load_skill", {"name": "pptx-author"})
        print("load_skill:", loaded.content[0].text.splitlines()[0])
        again = await client.call_tool("suggest_skill", request)
        print(
            "suggest_skill:", again.structured_content["name"], again.structured_content["reason"]
        )
        found = await client.call_tool("search_skills", {"query": "slides", "limit": 3})
        print("search_skills:", [skill["name"] for skill in found.structured_content["skills"]])


asyncio.run(main())
