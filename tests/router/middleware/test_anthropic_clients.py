"""Whole clients of the Anthropic SDK against a server on the loopback interface."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from roster import Roster
from router import Router, suggestion_block
from router.middleware.anthropic_messages import MessagesRouter
from tests.router.middleware.conftest import example
from tests.router.middleware.keywords import keyword_router

KITE = {"type": "text", "text": suggestion_block("kite-repair")}
ASK: dict[str, Any] = {
    "model": "claude-haiku-4-5",
    "max_tokens": 64,
    "system": "You help.",
    "messages": [{"role": "user", "content": "mend my kite"}],
}
SENT = [{"type": "text", "text": "You help."}, KITE]


@pytest.fixture
def client(server: Any, asked: Router) -> anthropic.Anthropic:
    plain = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=1)
    return MessagesRouter(asked).wrap(plain)


@pytest.fixture
def aclient(server: Any, asked: Router) -> anthropic.AsyncAnthropic:
    plain = anthropic.AsyncAnthropic(base_url=server.url, api_key="none", max_retries=1)
    return MessagesRouter(asked).wrap(plain)


def test_every_way_to_send_a_message_carries_the_block(
    client: anthropic.Anthropic, server: Any
) -> None:
    assert isinstance(client, anthropic.Anthropic)
    assert client.messages.create(**ASK).content[0].text == "Done."  # type: ignore[union-attr]
    chunks = list(client.messages.create(**ASK, stream=True))
    assert chunks[-1].type == "message_stop"
    with client.messages.stream(**ASK) as stream:
        assert "".join(stream.text_stream) == "Done."
    client.messages.with_raw_response.create(**ASK)
    client.beta.messages.create(**ASK)
    count = {key: value for key, value in ASK.items() if key != "max_tokens"}
    assert client.messages.count_tokens(**count).input_tokens > 0
    client.with_options(timeout=5).messages.create(**ASK)
    assert [body["system"] for body in server.requests] == [SENT] * 7


@pytest.mark.anyio
async def test_every_asynchronous_way_carries_the_block(
    aclient: anthropic.AsyncAnthropic, server: Any
) -> None:
    assert isinstance(aclient, anthropic.AsyncAnthropic)
    await aclient.messages.create(**ASK)
    async for _ in await aclient.messages.create(**ASK, stream=True):
        pass
    async with aclient.messages.stream(**ASK) as stream:
        assert await stream.get_final_text() == "Done."
    assert [body["system"] for body in server.requests] == [SENT] * 3


def test_a_retry_sends_the_same_and_asks_once(
    client: anthropic.Anthropic, server: Any, asked: Router
) -> None:
    server.fail_next = 1
    client.messages.create(**ASK)
    assert [body["system"] for body in server.requests] == [SENT] * 2
    assert len(asked.judge.turns) == 1  # type: ignore[attr-defined]


def test_the_client_that_was_wrapped_stays_as_it_was(server: Any, asked: Router) -> None:
    plain = anthropic.Anthropic(base_url=server.url, api_key="none")
    MessagesRouter(asked).wrap(plain)
    plain.messages.create(**ASK)
    assert server.requests[0]["system"] == "You help."


def test_the_provider_still_refuses_too_many_breakpoints(
    client: anthropic.Anthropic, server: Any
) -> None:
    marked = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5
    with pytest.raises(anthropic.BadRequestError, match="maximum of 4"):
        client.messages.create(**{**ASK, "system": marked})
    assert server.requests[0]["system"] == [*marked, KITE]


def test_twenty_turns_keep_the_cached_prompt(bundled: Roster) -> None:
    keywords = {
        "deck": "pptx-author",
        "pdf": "pdf-assemble",
        "previous version": "deploy-rollback",
        "which commit": "git-bisect",
        "release notes": "release-notes",
        "book a room": "calendar-book",
        "transcribe": "audio-transcribe",
        "translate": "translate-document",
        "resize": "image-resize",
        "reminder": "invoice-chase",
        "leaked": "secrets-scan",
    }
    replay = example("prefix_cache")
    assert len(replay.TURNS) == 20
    totals = replay.compare(keyword_router(bundled, keywords))
    none, system, turn = totals["no router"], totals["system"], totals["turn"]
    assert {t["requests"] for t in totals.values()} == {25}
    index = -(-len(bundled.prompt()) // 4)
    # The roster is read from the cache on every request but the first.
    assert system["read"] >= 24 * index
    # Behind a changed system block the conversation is written again; behind a message it is not.
    assert system["written"] > 2 * none["written"]
    assert turn["read"] >= none["read"]
    # All that "turn" adds are its own blocks: uncached when new, written with the next message.
    added = turn["written"] + turn["fresh"] - none["written"] - none["fresh"]
    assert 0 < added <= 2 * 20 * 60
