"""The yardstick of every speed claim: one encode of the same text, in the same run."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from eval.metrics import percentiles
from roster import Roster


def encode_baseline_ms(texts: Sequence[str], most: int = 200) -> dict[str, float]:
    """Time `SentenceTransformer.encode` of all-MiniLM-L6-v2, one text at a time.

    Args:
        texts: The texts.
        most: Most texts that are timed.

    Returns:
        Median and 95th percentile in milliseconds.
    """
    import os

    from router.local.torch_encoder import minilm_folder

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(minilm_folder()), device="cpu", local_files_only=True)
    model.encode("a warm-up text", show_progress_bar=False)
    times = []
    for text in texts[:most]:
        started = perf_counter()
        model.encode(text, show_progress_bar=False)
        times.append((perf_counter() - started) * 1000.0)
    return percentiles(times)


def index_seconds(roster: Roster, encoder: str | None = None) -> dict[str, float]:
    """Time the index of a roster in an empty cache folder.

    Args:
        roster: The roster.
        encoder: Name of the encoder; None for the shipped one.

    Returns:
        Seconds to build and write it (`build`), and to read it again (`cache`).
    """
    import tempfile

    from router.local.cache import IndexCache
    from router.local.encoder import load_encoder

    loaded = load_encoder(encoder)
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            started = perf_counter()
            IndexCache(folder, loaded).load_or_build(roster)
            times.append(round(perf_counter() - started, 4))
    return {"build": times[0], "cache": times[1]}
