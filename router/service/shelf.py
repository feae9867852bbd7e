"""The routers that are kept ready: one a roster, loaded once, swapped when its folders change."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from roster import Roster, RosterError
from router.errors import RouterError
from router.pipeline import Router
from router.service.problems import Refusal
from router.service.source import Source, broken_edit

_T = TypeVar("_T")

_log = logging.getLogger(__name__)

_MOST_OF_A_CORE = 0.05
"""Share of one core that watching may take: large trees are looked at less often."""

_FRESH_S = 0.3
"""Age in seconds below which a file may still be in the making."""

_TRIES = 4
"""First loads of a folder that is being written, before it is taken as it is."""


@dataclass
class Shelved:
    """A router and what is known of its roster's files.

    Attributes:
        source: Where the skills lie.
        router: The router, None while it is first loaded.
        loading: The first load.
        fingerprint: State of the files the router was made from.
        last_seen: State at the last look: a change counts once it has stood still for one look.
        refused: State that turned out broken.
        problem: Why the newest edit is not in use; None when it is.
        loaded_at: When the router was made, seconds since 1970.
        swaps: How often the roster was replaced.
    """

    source: Source
    router: Router | None = None
    loading: asyncio.Future[Router] | None = None
    fingerprint: str = ""
    last_seen: str = ""
    refused: str = ""
    problem: str | None = None
    loaded_at: float = 0.0
    swaps: int = 0

    def health(self) -> dict[str, Any]:
        """What ``/healthz`` says of it."""
        roster = self.router.roster if self.router else Roster()
        return {
            "paths": self.source.paths,
            "state": "loading" if self.router is None else "stale" if self.problem else "ready",
            "skills": len(roster),
            "digest": roster.digest if self.router else None,
            "loaded_at": self.loaded_at or None,
            "swaps": self.swaps,
            "problem": self.problem,
            "unreadable_files": sum(problem.is_error for problem in roster.problems),
        }


class Shelf:
    """Routers by source, the ones asked for last kept.

    Belongs to one event loop; loading happens on a thread of its own.

    Args:
        make: Makes the router of a roster; may take its time.
        most: Routers kept.
        on_swap: Told "swapped", "refused" or "evicted".
    """

    def __init__(
        self,
        make: Callable[[Roster], Router],
        most: int = 8,
        on_swap: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        self._make = make
        self._most = most
        self._on_swap = on_swap
        self._shelved: OrderedDict[Source, Shelved] = OrderedDict()
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="roster-loader")

    def __len__(self) -> int:
        return len(self._shelved)

    def health(self) -> list[dict[str, Any]]:
        """What ``/healthz`` says of each, the one asked for last at the end."""
        return [entry.health() for entry in self._shelved.values()]

    async def router(self, source: Source) -> Router:
        """The router of a source, loaded when it is not there yet.

        Raises:
            Refusal: If the roster cannot be loaded, or too many others are being loaded.
        """
        entry = self._shelved.get(source)
        if entry is None:
            entry = self._place(source)
        self._shelved.move_to_end(source)
        if entry.router is not None:
            return entry.router
        assert entry.loading is not None
        # Others wait for the same load, and a client that gives up must not end it.
        return await asyncio.shield(entry.loading)

    def close(self) -> None:
        """Stop loading."""
        self._loader.shutdown(wait=False, cancel_futures=True)

    def _place(self, source: Source) -> Shelved:
        loading = [entry for entry in self._shelved.values() if entry.router is None]
        if len(loading) >= self._most:
            raise Refusal(
                429,
                f"{len(loading)} rosters are being loaded; ask again later",
                headers={"Retry-After": "5"},
            )
        entry = self._shelved[source] = Shelved(source)
        entry.loading = asyncio.ensure_future(self._first_load(entry))
        # A load nobody waits for any more is still told to the next one who asks.
        entry.loading.add_done_callback(lambda done: done.cancelled() or done.exception())
        for other in list(self._shelved.values()):
            if len(self._shelved) <= self._most:
                break
            if other.router is not None:
                del self._shelved[other.source]
                self._on_swap("evicted")
        return entry

    async def _first_load(self, entry: Shelved) -> Router:
        try:
            roster, fingerprint = await self._read_still(entry.source)
            router = await self._in_loader(lambda: self._make(roster))
        except (RosterError, RouterError) as error:
            self._shelved.pop(entry.source, None)
            raise Refusal(422, f"the roster cannot be loaded: {error}"[:2000]) from error
        except BaseException:
            self._shelved.pop(entry.source, None)
            raise
        entry.fingerprint = entry.last_seen = fingerprint
        entry.router, entry.loaded_at = router, time.time()
        return router

    async def _read_still(self, source: Source) -> tuple[Roster, str]:
        """A roster and the state of its files, read while nobody writes them.

        A file that was changed a moment ago may be half of one. A folder that never comes to rest
        is read as it is in the end.
        """
        for last in (*(False,) * _TRIES, True):
            seen = await asyncio.to_thread(source.fingerprint)
            try:
                roster = await self._in_loader(source.load)
            except RosterError:
                if last or not await self._is_written(source, seen):
                    raise
            else:
                if last or not await self._is_written(source, seen):
                    break
        return roster, seen

    async def _is_written(self, source: Source, seen: str) -> bool:
        if await asyncio.to_thread(source.changed_within, _FRESH_S):
            await asyncio.sleep(_FRESH_S)
        return await asyncio.to_thread(source.fingerprint) != seen

    async def watch(self, every_s: float) -> None:
        """Look at the files of all rosters again and again, and swap in what has changed."""
        while True:
            took = 0.0
            for entry in list(self._shelved.values()):
                if entry.router is not None:
                    started = time.perf_counter()
                    try:
                        seen = await asyncio.to_thread(entry.source.fingerprint)
                        # Reading a change costs what it costs: only looking is done for nothing.
                        took += time.perf_counter() - started
                        await self._look(entry, entry.router, seen)
                    except Exception:  # the next look may fare better
                        _log.exception("%s: cannot be watched", entry.source.paths)
            await asyncio.sleep(max(every_s, took / _MOST_OF_A_CORE))

    async def _look(self, entry: Shelved, router: Router, seen: str) -> None:
        settled, entry.last_seen = seen == entry.last_seen, seen
        if seen == entry.fingerprint:
            if entry.problem:
                entry.problem, entry.refused = None, ""  # the edit was taken back
            return
        if not settled or seen == entry.refused:
            return
        try:
            roster = await self._in_loader(entry.source.load)
            if await asyncio.to_thread(entry.source.fingerprint) != seen:
                return  # still being written
            problem = broken_edit(router.roster, roster)
            if problem is None:
                if roster != router.roster:
                    router = await self._in_loader(lambda: self._make(roster))
                self._swap(entry, router, seen)
                return
        except (RosterError, RouterError) as error:
            problem = str(error)
        entry.problem, entry.refused = problem[:2000], seen
        _log.warning("the roster in use stays: %s", problem)
        self._on_swap("refused")

    def _swap(self, entry: Shelved, router: Router, fingerprint: str) -> None:
        entry.router, entry.fingerprint = router, fingerprint
        entry.problem, entry.refused = None, ""
        entry.loaded_at = time.time()
        entry.swaps += 1
        self._on_swap("swapped")

    async def _in_loader(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._loader, work)
