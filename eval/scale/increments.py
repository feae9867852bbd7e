"""What a change of k skills costs in a roster of n: ``python -m eval.scale.increments``.

For each n an index is built, then k skills are edited at once, for several k. Printed are the
seconds to find out what changed (every skill is hashed: grows with n, a few microseconds each), to
embed and write what is new (grows with k), and the texts that were embedded.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eval.scale.crowd import crowd
from eval.scale.hashed import HashedEncoder
from roster import Roster
from router.index.embeddings import EmbeddingStore
from router.index.folder import PoolFolder
from router.index.groups import grouped
from router.local.encoder import Encoded, Encoder, load_encoder


class Counting:
    """An encoder that counts the texts it is given."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder, self.texts = encoder, 0
        self.name, self.digest = encoder.name, encoder.digest
        self.dimension, self.token_dimension = encoder.dimension, encoder.token_dimension

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """Encode and count; see `Encoder.encode`."""
        self.texts += len(texts)
        return self._encoder.encode(texts, max_tokens)


def main() -> int:
    """Measure, and print one JSON line a pair of n and k."""
    parser = argparse.ArgumentParser(prog="python -m eval.scale.increments", description=__doc__)
    parser.add_argument("--archive", type=Path, required=True, help=".tar.zst or folder of skills")
    parser.add_argument("--sizes", default="2000,8000", help="n, separated by commas")
    parser.add_argument("--changes", default="1,10,100", help="k, separated by commas")
    parser.add_argument("--cache", type=Path, help="folder whose embeddings are used, if any")
    parser.add_argument("--hashed", action="store_true", help="vectors by hashing words")
    given = parser.parse_args()
    sizes, changes = (
        [int(part) for part in text.split(",")] for text in (given.sizes, given.changes)
    )
    encoder = HashedEncoder() if given.hashed else load_encoder()
    for size in sizes:
        roster = crowd([], given.archive, size)
        with TemporaryDirectory() as folder:
            root = Path(folder)
            if given.cache is not None:
                lend_embeddings(given.cache, root, encoder)
            for line in cost_of_changes(root, roster, changes, encoder):
                print(json.dumps(line), flush=True)
    return 0


def lend_embeddings(cache: Path, root: Path, encoder: Encoder) -> None:
    """Let a fresh folder use the embeddings of another one, without copying them."""
    source = EmbeddingStore(cache, encoder).folder
    target = EmbeddingStore(root, encoder).folder
    target.mkdir(parents=True)
    for path in source.glob("*.safetensors"):
        (target / path.name).symlink_to(path.resolve())


def cost_of_changes(
    root: Path, roster: Roster, changes: Sequence[int], encoder: Encoder
) -> list[dict[str, Any]]:
    """Edit k skills of a roster, for several k, and time what an update takes.

    Args:
        root: An empty cache folder, or one with embeddings.
        roster: The roster.
        changes: Each k.
        encoder: The encoder.

    Returns:
        For each k: `n`, `k`, `hash_s`, `update_s`, `texts`, and `build_s` of the first index.
    """
    counting = Counting(encoder)
    started = time.perf_counter()
    PoolFolder(root, counting).open_or_build(_firsts(roster))
    build_s = time.perf_counter() - started
    found = []
    for k in changes:
        # Edited from the first roster each time: every k starts from the same index.
        edited = Roster.from_skills(
            skill.model_copy(update={"body": f"Edition of {k}. {skill.body}"}) if at < k else skill
            for at, skill in enumerate(roster)
        )
        counting.texts = 0
        started = time.perf_counter()
        skills = _firsts(edited)
        hashed = time.perf_counter()
        PoolFolder(root, counting).open_or_build(skills)
        done = time.perf_counter()
        found.append(
            {
                "n": len(roster),
                "k": k,
                "hash_s": round(hashed - started, 3),
                "update_s": round(done - hashed, 3),
                "texts": counting.texts,
                "build_s": round(build_s, 2),
            }
        )
    return found


def _firsts(roster: Roster) -> dict[bytes, Any]:
    return {key: members[0] for key, members in grouped(roster).items()}


if __name__ == "__main__":
    sys.exit(main())
