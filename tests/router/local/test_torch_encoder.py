"""Encoders by name: all-MiniLM-L6-v2 from its package, and the same model as a folder."""

from __future__ import annotations

import importlib.util
import os
import socket
from pathlib import Path

import numpy as np
import pytest

from roster import Roster
from router import EncoderError, Reason, Router
from router.local.encoder import Encoder, load_encoder

if importlib.util.find_spec("sentence_transformers") is None:
    pytest.skip("needs the extra `train`", allow_module_level=True)


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    return load_encoder("minilm")


def test_it_is_loaded_without_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert load_encoder("minilm").dimension == 384
    assert os.environ.get("HF_HUB_OFFLINE") == "1"


def test_a_folder_of_the_same_model_is_the_same_encoder(minilm: Encoder) -> None:
    from router.local.torch_encoder import minilm_folder

    folder = load_encoder(str(minilm_folder()))
    assert folder.digest == minilm.digest
    texts = ["merge two pdfs", "", "x " * 500]
    first, second = minilm.encode(texts, 32), folder.encode(texts, 32)
    assert np.array_equal(first.pooled, second.pooled)
    assert all(len(tokens) <= 32 for tokens in first.tokens)


def test_the_router_works_with_it(bundled: Roster, minilm: Encoder) -> None:
    names = ("pdf-assemble", "flight-search", "git-bisect", "slack-post")
    router = Router.load(Roster.from_skills([bundled[name] for name in names]), encoder=minilm)
    suggestion = router.suggest("merge a.pdf and b.pdf into one pdf file")
    assert suggestion.reason is not Reason.ROUTER_ERROR
    assert suggestion.ranking.top(1) == ("pdf-assemble",)
    assert router.weights_digest != Router.load(router.roster).weights_digest


@pytest.mark.parametrize("name", ["no-such-org/no-such-model", "/no/such/folder"])
def test_a_model_that_is_not_there_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(EncoderError, match="cannot be loaded"):
        load_encoder(name)
