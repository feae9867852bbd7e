"""Embed many texts with joblib: on this machine's cores, or on a cluster that joblib is given.

Nothing here names a cluster. Inside ``joblib.parallel_config(backend="dask")`` (or "ray", once
``ray.util.joblib.register_ray()`` was called) the same call sends its batches to that cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from router.index.embeddings import EmbeddingStore, TextBatch, embed_texts
from router.local.encoder import Encoder, load_encoder

Keyed = Sequence[tuple[bytes, str, bool]]

TEXTS_A_BATCH = 1_024
"""Texts of one batch: about ten seconds of one core, the most that a stopped run loses."""


@dataclass(frozen=True)
class Pace:
    """How far a bulk job is.

    Attributes:
        done: Texts embedded in this run.
        total: Texts this run has to embed.
        elapsed_s: Seconds since it started.
    """

    done: int
    total: int
    elapsed_s: float

    @property
    def eta_s(self) -> float:
        """Seconds until it is done at this run's pace; infinite before the first batch."""
        return self.elapsed_s / self.done * (self.total - self.done) if self.done else float("inf")

    def __str__(self) -> str:
        """One line for a log."""
        rest = f"{self.eta_s / 60:.1f} min left" if self.done else "starting"
        share = self.done / max(self.total, 1)
        return f"{self.done:,} of {self.total:,} texts ({share:.1%}), {rest}"


def embed_missing(
    store: EmbeddingStore,
    keyed: Keyed,
    encoder: str | Encoder | None,
    jobs: int | None = None,
    report: Callable[[Pace], None] | None = None,
) -> int:
    """Embed what the store lacks; what was done before the run was stopped stays done.

    Args:
        store: Where vectors are kept.
        keyed: Key, text, and whether token vectors are wanted.
        encoder: Name of the encoder, which each worker loads for itself, on one thread; or an
            encoder, which is sent to the workers, when there are any.
        jobs: Workers; None leaves it to `joblib.parallel_config`.
        report: Told after every batch.

    Returns:
        How many texts were embedded.

    Raises:
        EncoderError: If the encoder cannot be loaded.
        OSError: If the store cannot be written.
    """
    from joblib import Parallel, delayed

    missing = store.missing(keyed)
    started, done = monotonic(), 0
    if report is not None:
        report(Pace(0, len(missing), 0.0))
    if not missing:
        return 0
    work = (
        delayed(_embed_batch)(encoder, missing[at : at + TEXTS_A_BATCH])
        for at in range(0, len(missing), TEXTS_A_BATCH)
    )
    for batch in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
        store.add(batch)
        done += len(batch.keys)
        if report is not None:
            report(Pace(done, len(missing), monotonic() - started))
    return done


def _embed_batch(encoder: str | Encoder | None, keyed: Keyed) -> TextBatch:
    return embed_texts(_one_thread(encoder), keyed)


def _one_thread(name: str | Encoder | None) -> Encoder:
    """The encoder on one thread: a bulk job has a worker a core."""
    if not isinstance(name, str | None):
        return name
    from router.local.onnx_encoder import SHIPPED, OnnxEncoder

    folder = SHIPPED if name is None else Path(name).expanduser()
    if (folder / "encoder.onnx").is_file():
        return OnnxEncoder(folder, threads=1)
    return load_encoder(name)
