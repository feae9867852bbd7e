"""The queue between the event loop and the threads that route."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from router import Turn
from router.service.batcher import Batcher


class Gated:
    """A router whose answer is the turn itself, once the turn's gate is open."""

    def __init__(self, *requests: str) -> None:
        self.gates = {request: threading.Event() for request in requests}

    def suggest(self, turn: Turn) -> Any:
        self.gates[turn.request].wait(10)
        return turn


def test_each_turn_of_a_batch_is_answered_as_soon_as_it_is_routed() -> None:
    async def run() -> None:
        sizes: list[int] = []
        batcher = Batcher(workers=1, on_batch=sizes.append)
        router: Any = Gated("zero", "one", "two")
        asked = [
            asyncio.create_task(batcher.suggest(router, Turn(request=request)))
            for request in router.gates
        ]
        while not sizes:
            await asyncio.sleep(0.01)
        router.gates["zero"].set()
        router.gates["one"].set()
        done, _ = await asyncio.wait(asked[:2], timeout=10)
        assert len(done) == 2 and not asked[2].done()
        assert batcher.inflight == 1
        router.gates["two"].set()
        answers = [answer.request for answer, _ in await asyncio.gather(*asked)]
        assert answers == ["zero", "one", "two"]
        assert sum(sizes) == 3 and max(sizes) >= 2
        batcher.close()

    asyncio.run(run())
