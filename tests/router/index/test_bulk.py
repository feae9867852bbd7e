"""Bulk jobs: resumed where they stopped, and the same on a cluster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roster import Roster, Skill
from router.index.bulk import Pace, embed_missing
from router.index.embeddings import EmbeddingStore
from router.index.load import embed_roster
from router.index.texts import skill_texts
from router.local.encoder import load_encoder
from tests.router.index.conftest import WordEncoder, make_skills


def keyed(skills: list[Skill]) -> list[tuple[bytes, str, bool]]:
    return [item for skill in skills for item in skill_texts(skill).keyed()]


def test_a_stopped_run_is_taken_up_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.index.bulk.TEXTS_A_BATCH", 20)
    texts, encoder = keyed(make_skills(30)), WordEncoder()
    wanted = len({key for key, _, _ in texts})

    def stop(pace: Pace) -> None:
        if pace.done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_missing(EmbeddingStore(tmp_path, encoder), texts, encoder, 1, stop)
    kept = len(EmbeddingStore(tmp_path, encoder))
    assert 40 <= kept < wanted
    paces: list[Pace] = []
    store = EmbeddingStore(tmp_path, encoder)
    assert embed_missing(store, texts, encoder, 1, paces.append) == wanted - kept
    assert len(store) == wanted
    assert paces[-1].done == paces[-1].total == wanted - kept and paces[-1].eta_s == 0
    assert "min left" in str(paces[-1])
    assert embed_missing(store, texts, encoder, 1) == 0


def test_the_tokens_of_documents_alone_are_kept(tmp_path: Path) -> None:
    encoder, store = WordEncoder(), EmbeddingStore(tmp_path, WordEncoder())
    texts = keyed(make_skills(5))
    embed_missing(store, texts, encoder, 1)
    for key, text, wanted in texts:
        assert (len(store.tokens(key)) > 0) == wanted
        exact = encoder.encode([text], 160).pooled
        assert np.allclose(store.pooled([key]), exact, atol=1e-3)


@pytest.mark.slow
def test_a_cluster_embeds_what_one_machine_does(tmp_path: Path, bundled: Roster) -> None:
    distributed = pytest.importorskip("distributed")
    from joblib import parallel_config

    roster = Roster.from_skills(list(bundled)[:6])
    here = embed_roster(roster, cache=tmp_path / "here", jobs=1)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path
        ) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        there = embed_roster(roster, cache=tmp_path / "there")
    assert here == there > 0
    encoder = load_encoder()
    one = EmbeddingStore(tmp_path / "here", encoder)
    other = EmbeddingStore(tmp_path / "there", encoder)
    keys = [key for key, _, _ in keyed(list(roster))]
    assert np.array_equal(one.pooled(keys), other.pooled(keys))
