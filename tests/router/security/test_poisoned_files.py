"""A poisoned cache, poisoned weights: what is loaded is checked, and never a pickle."""

from __future__ import annotations

import ast
import importlib.util
import json
import logging
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roster import Roster
from router import EncoderError, Router, RouterError, WeightsError, suggestion_block
from router.local.cache import IndexCache
from router.local.encoder import load_encoder
from router.local.heads import FOLDER, Heads
from router.local.onnx_encoder import SHIPPED, OnnxEncoder
from tests.conftest import ROOT
from tests.router.fakes import HashEncoder

MARK = "pickle-was-run"


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _explode, (str(self.file),)


def _explode(file: str) -> None:
    Path(file).write_text(MARK)


def test_vectors_swapped_in_the_cache_change_at_most_which_skill(
    pair: Roster, tmp_path: Path
) -> None:
    """Whoever can write the cache can mislead the rank; the answer is still a skill or nothing."""
    router = Router.load(pair, cache=tmp_path)
    path = IndexCache(tmp_path, load_encoder()).path(pair)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    for name in ("documents", "summaries"):
        arrays[name] = arrays[name][::-1].copy()
    with path.open("wb") as out:
        np.savez(out, **arrays)
    poisoned = Router.load(pair, cache=tmp_path)
    for text in ("Mend the sail of my kite.", "Bake a sourdough bread.", "hello"):
        suggestion = poisoned.suggest(text)
        assert suggestion.name is None or suggestion.name in pair
        assert suggestion_block(suggestion).count("<") in (0, 2)
    assert router.roster.digest == poisoned.roster.digest


@pytest.mark.parametrize("forged", ["names", "skill_digests"])
def test_a_cache_that_names_other_skills_is_built_anew(
    pair: Roster, tmp_path: Path, forged: str
) -> None:
    cache = IndexCache(tmp_path, HashEncoder())
    built = cache.load_or_build(pair)
    path = cache.path(pair)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    text = "evil-skill\nbread-bake" if forged == "names" else "0" * 64 + "\n" + "1" * 64
    arrays[forged] = np.frombuffer(text.encode(), dtype=np.uint8)
    with path.open("wb") as out:
        np.savez(out, **arrays)
    assert cache.load_or_build(pair).names == built.names == pair.names


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_an_index_of_another_user_is_not_read(
    pair: Roster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = IndexCache(tmp_path, HashEncoder())
    cache.load_or_build(pair)
    os.chown(cache.path(pair), 4321, -1)
    encoder = HashEncoder()
    with caplog.at_level(logging.WARNING):
        IndexCache(tmp_path, encoder).load_or_build(pair)
    assert encoder.encoded and "belongs to another user" in caplog.text
    assert cache.path(pair).stat().st_uid == 0


def test_a_pickle_in_the_cache_is_not_run(pair: Roster, tmp_path: Path) -> None:
    cache = IndexCache(tmp_path, HashEncoder())
    cache.load_or_build(pair)
    path, mark = cache.path(pair), tmp_path / MARK
    with path.open("wb") as out:
        np.savez(out, names=np.array([Bomb(mark)], dtype=object))
    cache.load_or_build(pair)
    path.write_bytes(pickle.dumps(Bomb(mark)))
    cache.load_or_build(pair)
    assert not mark.exists()


def test_poisoned_heads_are_refused(tmp_path: Path) -> None:
    file, mark = tmp_path / "heads.json", tmp_path / MARK
    good = json.loads(next(FOLDER.glob("heads-*.json")).read_text())
    bad: list[bytes] = [pickle.dumps(Bomb(mark)), b"[" * 100_000, b"\x00", b"{}"]
    for change in (
        {"gate": {**good["gate"], "bias": [0.0, float("nan"), 0.0]}},
        {"fits": {**good["fits"], "slope": float("inf")}},
        {"thresholds": {**good["thresholds"], "gate": 7}},
        {"surprise": 1},
    ):
        bad.append(json.dumps({**good, **change}).encode())
    for content in bad:
        file.write_bytes(content)
        with pytest.raises(WeightsError, match=str(file)):
            Heads.from_file(file)
    assert not mark.exists()


@pytest.mark.parametrize("changed", ["encoder.onnx", "tokenizer.json"])
def test_an_encoder_whose_file_was_swapped_is_refused(tmp_path: Path, changed: str) -> None:
    for file in SHIPPED.iterdir():
        shutil.copy(file, tmp_path)
    data = bytearray((tmp_path / changed).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / changed).write_bytes(bytes(data))
    with pytest.raises(EncoderError, match=f"{changed}: its sha256"):
        OnnxEncoder(tmp_path)


def test_every_shipped_graph_vouches_for_its_tokenizer() -> None:
    cards = [json.loads(path.read_text()) for path in (FOLDER / "encoder").glob("*.json")]
    assert any({"sha256", "tokenizer_sha256"} <= card.keys() for card in cards)


def test_a_graph_cannot_draw_in_other_files(tmp_path: Path) -> None:
    """ONNX can keep weights outside the graph; from bytes there is no outside."""
    onnx = pytest.importorskip("onnx")
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.zeros(4, dtype=np.float32).tobytes())
    tensor = onnx.TensorProto(
        name="w", data_type=onnx.TensorProto.FLOAT, dims=[4],
        data_location=onnx.TensorProto.EXTERNAL,
    )  # fmt: skip
    tensor.external_data.add(key="location", value=str(secret))
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])
    node = onnx.helper.make_node("Identity", ["w"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [], [output], initializer=[tensor])
    content = onnx.helper.make_model(graph).SerializeToString()
    from router.local.onnx import session

    with pytest.raises(Exception, match=r"(?i)external"):
        session(content, 1)


def test_weights_of_another_encoder_are_refused(pair: Roster, tmp_path: Path) -> None:
    with pytest.raises(RouterError):
        Router.load(pair, encoder=HashEncoder(), cache=tmp_path)


@pytest.mark.slow
def test_a_pickled_model_folder_is_not_run(tmp_path: Path) -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("needs the extra `train`")
    from router.local.torch_encoder import minilm_folder

    folder, mark = tmp_path / "model", tmp_path / MARK
    shutil.copytree(minilm_folder(), folder)
    for weights in folder.rglob("*.safetensors"):
        weights.unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(EncoderError):
        load_encoder(str(folder))
    assert not mark.exists()


_FORBIDDEN = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle"}


@pytest.mark.parametrize("package", ["roster", "router", "eval"])
def test_no_module_can_unpickle_or_evaluate(package: str) -> None:
    """Formats are JSON, TOML, npz without objects, safetensors, ONNX: nothing that runs code."""
    found: list[str] = []
    for file in sorted((ROOT / package).rglob("*.py")):
        if "bundled" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            where = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            found += [where for name in names if name.split(".")[0] in _FORBIDDEN]
            if isinstance(node, ast.Call) and _is_unsafe(node):
                found.append(f"{where}: {ast.unparse(node.func)}")
    assert found == []


def _is_unsafe(node: ast.Call) -> bool:
    last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = {k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}
    if any(given.get(key) for key in ("allow_pickle", "trust_remote_code", "shell")):
        return True
    if last in ("eval", "exec"):
        return isinstance(node.func, ast.Name)
    if last not in ("load", "unsafe_load"):
        return False
    call = ast.unparse(node.func)
    return call in ("joblib.load", "yaml.load", "yaml.unsafe_load") or (
        call == "torch.load" and given.get("weights_only") is not True
    )
