"""A large roster's index, made ready: from its folder, else built there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from roster import Roster
from router.errors import RouterError
from router.index.bulk import Pace
from router.index.folder import PoolFolder
from router.index.groups import grouped
from router.index.pool import Pool
from router.local.cache import cache_folder
from router.local.encoder import Encoder
from router.local.vectors import Progress

MILVUS = "milvus:"


def load_pool(
    roster: Roster,
    encoder: Encoder,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    index: str = "exact",
    jobs: int | None = 1,
    source: str | None = None,
    report: Callable[[Pace], None] | None = None,
) -> Pool:
    """A roster whose candidates an index finds.

    Args:
        roster: The roster.
        encoder: The encoder.
        cache: The cache folder; see `router.local.cache.cache_folder`.
        progress: Told how many skills are embedded, estimated from their texts.
        index: "exact", or "milvus:" and the address of a server or the path of a Milvus Lite file;
            after a "#", the name of the roster's partition.
        jobs: Workers that embed and count; None leaves it to `joblib.parallel_config`.
        source: Name by which workers load the encoder, with more than one worker.
        report: Told the pace after every batch of texts.

    Raises:
        RouterError: If the index has another name, or its folder cannot be written.
    """
    if index != "exact" and not index.startswith(MILVUS):
        raise RouterError(f"there is no index {index[:40]!r}; use exact or milvus:URI")

    def told(pace: Pace) -> None:
        if report is not None:
            report(pace)
        if progress is not None and pace.total:
            progress(len(roster) * pace.done // pace.total, len(roster))

    groups = grouped(roster)
    skills = {key: members[0] for key, members in groups.items()}
    folder = PoolFolder(cache_folder(cache), encoder, jobs, source)
    pool = Pool(groups, folder.open_or_build(skills, told), encoder)
    if index.startswith(MILVUS):
        from router.index.milvus import MilvusIndex

        uri, _, partition = index.removeprefix(MILVUS).partition("#")
        pool.index = MilvusIndex(pool, uri, encoder.digest, partition or "default")
    return pool
