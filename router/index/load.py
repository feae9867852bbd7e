"""A large roster's index, made ready: from its folder, else built there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from roster import Roster
from router.errors import RouterError
from router.index.bulk import Pace, embed_missing
from router.index.embeddings import EmbeddingStore
from router.index.folder import PoolFolder
from router.index.groups import grouped
from router.index.pool import Pool
from router.index.texts import skill_texts
from router.local.cache import cache_folder
from router.local.encoder import Encoder, load_encoder
from router.local.scripts import as_read
from router.local.vectors import Progress

MILVUS = "milvus:"


def load_pool(
    roster: Roster,
    encoder: Encoder,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    index: str = "exact",
) -> Pool:
    """A roster whose candidates an index finds.

    Args:
        roster: The roster.
        encoder: The encoder.
        cache: The cache folder; see `router.local.cache.cache_folder`.
        progress: Told how many skills are embedded, estimated from their texts.
        index: "exact", or "milvus:" and the address of a server or the path of a Milvus Lite file;
            after a "#", the name of the roster's partition.

    Raises:
        RouterError: If the index has another name, or its folder cannot be written.
    """
    if index != "exact" and not index.startswith(MILVUS):
        raise RouterError(f"there is no index {index[:40]!r}; use exact or milvus:URI")

    def told(pace: Pace) -> None:
        if progress is not None and pace.total:
            progress(len(roster) * pace.done // pace.total, len(roster))

    groups = grouped(roster)
    skills = {key: members[0] for key, members in groups.items()}
    folder = PoolFolder(cache_folder(cache), encoder)
    pool = Pool(groups, folder.open_or_build(skills, told), encoder)
    if index.startswith(MILVUS):
        from router.index.milvus import MilvusIndex

        uri, _, partition = index.removeprefix(MILVUS).partition("#")
        pool.index = MilvusIndex(pool, uri, encoder.digest, partition or "default")
    return pool


def embed_roster(
    roster: Roster,
    encoder: str | None = None,
    cache: str | Path | None = None,
    jobs: int | None = None,
    report: Callable[[Pace], None] | None = None,
) -> int:
    """Embed the texts of a large roster ahead of its use; a stopped run is taken up where it was.

    Args:
        roster: The roster.
        encoder: Name of the encoder; see `router.local.encoder.load_encoder`.
        cache: The cache folder.
        jobs: Workers; None leaves it to `joblib.parallel_config`, so that a cluster can do it.
        report: Told the pace after every batch of texts.

    Returns:
        How many texts were embedded.

    Raises:
        EncoderError: If the encoder cannot be loaded.
        OSError: If the cache folder cannot be written.
    """
    loaded = load_encoder(encoder)
    store = EmbeddingStore(cache_folder(cache), loaded)
    groups = grouped(as_read(roster, loaded))
    keyed = [item for members in groups.values() for item in skill_texts(members[0]).keyed()]
    return embed_missing(store, keyed, encoder, jobs, report)
