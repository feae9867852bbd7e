"""Candidates from Milvus: one collection an encoder, one partition a roster.

The same code talks to a Milvus Lite file and to a cluster. Milvus holds the vectors and what each
skill requires, and searches; the words and the full scoring of candidates stay with the router,
which reads them from the segments it has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from router.errors import RouterError
from router.index.protocol import KINDS, Wanted, best, requirement_key

if TYPE_CHECKING:
    from router.index.pool import Pool

# Filters are written out, as Milvus Lite takes no parameters: all they hold are hex digits.
_ROWS_A_CALL = 1_000
_MOST_HITS = 16_384


class MilvusIndex:
    """Finds candidates in a Milvus collection; thread-safe.

    When it is made, the partition is brought in line with the roster: work for the skills that are
    new or gone, and for listing the keys of the rest.

    Args:
        pool: The roster.
        uri: Address of a server, or the path of a Milvus Lite file.
        encoder_digest: Digest of the encoder: vectors of two encoders never meet.
        partition: Name of the roster: rosters in one collection do not see one another.
        token: What the server asks for.

    Raises:
        RouterError: If the client is not installed, or the server cannot be reached.
    """

    def __init__(
        self, pool: Pool, uri: str, encoder_digest: str, partition: str = "default", token: str = ""
    ) -> None:
        try:
            from pymilvus import MilvusClient
            from pymilvus.exceptions import MilvusException
        except ImportError as error:
            raise RouterError(
                f"the index in Milvus needs pymilvus ({error}); pip install 'skill-router[milvus]'"
            ) from error
        self._pool = pool
        self._row_of = {
            key.hex(): base + row
            for base, segment in zip(pool.offsets.tolist(), pool.segments, strict=False)
            for row, key in enumerate(segment.key_list)
            if base + row in pool.members
        }
        self._collection = f"skills_{encoder_digest[:16]}"
        # Any name will do for a person; Milvus takes letters, digits and underscores.
        self._partition = f"roster_{hashlib.sha256(partition.encode()).hexdigest()[:16]}"
        try:
            self._client: Any = MilvusClient(uri=uri, token=token)
            self._prepare()
            self.changed = self._align()
        except (MilvusException, OSError, ValueError) as error:
            raise RouterError(f"{uri}: Milvus cannot be used ({str(error)[:300]})") from error

    def candidates(self, wanted: Wanted, count: int) -> NDArray[np.int64]:
        """Rows near in vectors or in words; see `CandidateIndex.candidates`."""
        share = max(1, count // 2)
        lexical = np.where(wanted.eligible, wanted.lexical, -np.inf).astype(np.float32)
        rows = set(best(lexical, share).tolist())
        for vector in wanted.vectors:
            for kind in KINDS:
                rows.update(self._nearest(kind, vector, share, wanted.requirements))
        found = np.fromiter(rows, np.int64, len(rows))
        return found[wanted.eligible[found]]

    def close(self) -> None:
        """Let go of the server."""
        self._client.close()

    def _nearest(
        self, kind: str, vector: NDArray[np.float32], count: int, requirements: Sequence[str] | None
    ) -> Iterator[int]:
        conditions = [f'kind == "{kind}"']
        if requirements is not None:
            conditions.append(f"requires in {json.dumps(list(requirements))}")
        hits = self._client.search(
            self._collection,
            data=[vector.tolist()],
            partition_names=[self._partition],
            filter=" and ".join(conditions),
            limit=min(count, _MOST_HITS),
            output_fields=["skill"],
            search_params={"metric_type": "IP"},
        )
        for hit in hits[0]:
            row = self._row_of.get(hit["entity"]["skill"])
            if row is not None:
                yield row

    def _prepare(self) -> None:
        from pymilvus import DataType

        client, name = self._client, self._collection
        if not client.has_collection(name):
            dimension = self._pool.segments[0].vectors.shape[1]
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=64)
            schema.add_field("skill", DataType.VARCHAR, max_length=32)
            schema.add_field("kind", DataType.VARCHAR, max_length=16)
            schema.add_field("requires", DataType.VARCHAR, max_length=32)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
            indexes = client.prepare_index_params()
            indexes.add_index("vector", index_type="FLAT", metric_type="IP")
            client.create_collection(name, schema=schema, index_params=indexes)
        if not client.has_partition(name, self._partition):
            client.create_partition(name, self._partition)
        client.load_collection(name)

    def _align(self) -> tuple[int, int]:
        """Insert what the partition lacks and delete what it should not hold.

        Returns:
            Skills inserted and skills deleted.
        """
        held = self._held()
        wanted = set(self._row_of)
        for part in _parts(sorted(held - wanted), _ROWS_A_CALL):
            self._client.delete(
                self._collection,
                partition_name=self._partition,
                filter=f"skill in {json.dumps(part)}",
            )
        new = sorted(wanted - held, key=lambda key: self._row_of[key])
        for part in _parts(new, _ROWS_A_CALL // 4):
            rows = [row for key in part for row in self._rows(key)]
            self._client.insert(self._collection, rows, partition_name=self._partition)
        if new or held - wanted:
            self._client.flush(self._collection)
        return len(new), len(held - wanted)

    def _held(self) -> set[str]:
        """Skills whose vectors are all in the partition: the document is inserted last."""
        iterator = self._client.query_iterator(
            self._collection,
            batch_size=_ROWS_A_CALL,
            partition_names=[self._partition],
            filter='kind == "document"',
            output_fields=["skill"],
        )
        found: set[str] = set()
        while batch := iterator.next():
            found.update(row["skill"] for row in batch)
        iterator.close()
        return found

    def _rows(self, key: str) -> Iterator[dict[str, Any]]:
        row = self._row_of[key]
        at = int(np.searchsorted(self._pool.offsets, row, side="right")) - 1
        segment, own = self._pool.segments[at], row - int(self._pool.offsets[at])
        requires = requirement_key(self._pool.requires.get(row, ()))
        ids = [("passage", one) for one in segment.passage_ids(np.array([own]))[0].tolist()]
        ids += [("summary", int(segment.summaries[own])), ("document", int(segment.documents[own]))]
        vectors = segment.unit(np.array([one for _, one in ids], np.int64))
        for place, ((kind, _), vector) in enumerate(zip(ids, vectors, strict=True)):
            yield {
                "id": f"{self._partition[-16:]}-{key}-{place}",
                "skill": key,
                "kind": kind,
                "requires": requires,
                "vector": vector.tolist(),
            }


def _parts(items: Sequence[str], size: int) -> Iterator[list[str]]:
    for at in range(0, len(items), size):
        yield list(items[at : at + size])
