"""Routes waiting turns in small batches, on a few threads.

A thread that becomes free takes what is waiting, at most its share, so a lone turn never waits for
company and a crowd is handed over in few wake-ups; each turn is answered when it is routed. Texts
of different turns are not put through the encoder together: its int8 activations are scaled over
the whole tensor, so an answer would depend on whoever asked at the same moment.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from router.pipeline import Router
from router.service.problems import Refusal
from router.suggestion import Suggestion
from router.turn import Turn

Answer = tuple[Suggestion, float]
"""A suggestion, and the milliseconds its turn waited."""


@dataclass
class _Job:
    router: Router
    turn: Turn
    future: asyncio.Future[Answer]
    loop: asyncio.AbstractEventLoop
    since: float = field(default_factory=perf_counter)


class Batcher:
    """A bounded queue of turns and the threads that work it off.

    Args:
        workers: Threads.
        max_batch: Most turns a thread takes at a time.
        max_inflight: Turns waiting or in work; one more is refused.
        on_batch: Told the size of every batch.
    """

    def __init__(
        self,
        workers: int = 2,
        max_batch: int = 8,
        max_inflight: int = 64,
        on_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._max_batch = max_batch
        self._max_inflight = max_inflight
        self._on_batch = on_batch
        self._waiting: deque[_Job] = deque()
        self._ready = threading.Condition()
        self._inflight = 0
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"router-{n}", daemon=True)
            for n in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def inflight(self) -> int:
        """Turns waiting or in work."""
        return self._inflight

    async def suggest(self, router: Router, turn: Turn) -> Answer:
        """The suggestion of a router for a turn.

        Raises:
            Refusal: With status 429, at once, when too many turns are in work already.
        """
        loop = asyncio.get_running_loop()
        job = _Job(router, turn, loop.create_future(), loop)
        with self._ready:
            if self._closed:
                raise Refusal(503, "the service is leaving; ask again")
            if self._inflight >= self._max_inflight:
                raise Refusal(
                    429,
                    f"{self._inflight} suggestions are in work already; ask again in a moment",
                    headers={"Retry-After": "1"},
                )
            self._inflight += 1
            self._waiting.append(job)
            self._ready.notify()
        return await job.future

    def close(self, timeout_s: float = 5.0) -> None:
        """Let the threads finish what is waiting, and end them."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()
        for thread in self._threads:
            thread.join(timeout_s)

    def _work(self) -> None:
        while batch := self._take():
            wanted = sum(not job.future.done() for job in batch)
            if wanted:
                self._on_batch(wanted)
            for job in batch:
                self._answer(job)

    def _answer(self, job: _Job) -> None:
        started = perf_counter()
        answer: Answer | Exception | None = None
        if not job.future.done():  # else whoever asked has given up waiting
            try:
                waited = (started - job.since) * 1000.0
                answer = job.router.suggest(job.turn), waited
            except Exception as error:  # a thread must outlive whatever a router does
                answer = error
        with self._ready:
            self._inflight -= 1
        if answer is not None:
            # Each as soon as it is there: whoever asked can ask again meanwhile.
            job.loop.call_soon_threadsafe(_deliver, job, answer)

    def _take(self) -> list[_Job]:
        """The next batch: turns for one router, in the order they came; [] when all is over."""
        with self._ready:
            while not self._waiting:
                if self._closed:
                    return []
                self._ready.wait()
            share = -(-len(self._waiting) // len(self._threads))
            batch = [self._waiting.popleft()]
            while (
                len(batch) < min(share, self._max_batch)
                and self._waiting
                and self._waiting[0].router is batch[0].router
            ):
                batch.append(self._waiting.popleft())
            return batch


def _deliver(job: _Job, answer: Answer | Exception) -> None:
    if job.future.done():
        return
    if isinstance(answer, Exception):
        job.future.set_exception(answer)
    else:
        job.future.set_result(answer)
