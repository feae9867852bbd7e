"""`train export`: from a checkpoint to the folder that the router loads without torch."""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eval.files import write_whole
from eval.train.checkpoint import Checkpoint
from eval.train.dense import dense_scores
from eval.train.encoder import make_folder
from eval.train.labelled import REQUEST_TOKENS
from eval.train.model import TokenEncoder
from eval.train.quantize import quantize
from eval.train.sources import Source
from router.local.encoder import DOCUMENT_TOKENS
from router.local.onnx_encoder import OnnxEncoder
from router.local.text import document

INPUTS = ("input_ids", "attention_mask")
OUTPUTS = ("pooled", "tokens", "importance")
OPSET = 17


@dataclass(frozen=True)
class Exported:
    """An exported encoder.

    Attributes:
        folder: Holds `encoder.onnx`, `tokenizer.json` and `encoder.json`.
        card: Content of `encoder.json`.
        scores: Sizes, and Hit@1 and Hit@3 of the int8 graph and of fp32.
    """

    folder: Path
    card: dict[str, Any]
    scores: dict[str, Any]


def export_encoder(
    checkpoint: Checkpoint,
    out: str | Path,
    name: str,
    compare_on: Sequence[Source],
    scripts: Sequence[str] | None = None,
    fp32_out: str | Path | None = None,
) -> Exported:
    """Write the int8 graph, its tokenizer and its card, and compare it with fp32.

    Args:
        checkpoint: The encoder.
        out: The folder; made when missing.
        name: Name in `encoder.json`.
        compare_on: Rosters with labelled turns, at least one.
        scripts: Scripts it was trained on, see `router.local.scripts`; None for all.
        fp32_out: A folder for the same encoder in fp32, for `python -m eval.int8`; None for none.

    Raises:
        TrainError: If a folder cannot be made.
    """
    folder = Path(out).expanduser()
    make_folder(folder)
    kept = None if fp32_out is None else Path(fp32_out).expanduser()
    if kept is not None:
        make_folder(kept, "--fp32")
    model = checkpoint.model().eval()
    with tempfile.TemporaryDirectory() as temporary:
        full, small = Path(temporary) / "fp32", Path(temporary) / "int8"
        full.mkdir()
        small.mkdir()
        _write_graph(model, full / "encoder.onnx")
        quantize(full / "encoder.onnx", small / "encoder.onnx")
        for where in (full, small):
            write_whole(where / "tokenizer.json", model.tokenizer_json)
            card = _card(where / "encoder.onnx", name, model)
            if scripts is not None:
                card["scripts"] = list(scripts)
            write_whole(where / "encoder.json", json.dumps(card))
        fp32, int8 = OnnxEncoder(full), OnnxEncoder(small)
        card |= _cosines(fp32, int8, compare_on)
        scores = {
            "encoder_megabytes": round((small / "encoder.onnx").stat().st_size / 1e6, 1),
            "int8": dense_scores(int8, compare_on),
            "fp32": dense_scores(fp32, compare_on),
        }
        _copy(small, folder, json.dumps(card, indent=2) + "\n")
        if kept is not None:
            _copy(full, kept, (full / "encoder.json").read_text(encoding="utf-8"))
    return Exported(folder, card, scores)


def _copy(made: Path, folder: Path, card: str) -> None:
    # The card goes last: a folder that was only half written does not load.
    for file in ("tokenizer.json", "encoder.onnx"):
        write_whole(folder / file, (made / file).read_bytes())
    write_whole(folder / "encoder.json", card)


def _write_graph(model: TokenEncoder, path: Path) -> None:
    model.body.config._attn_implementation = "eager"  # the fused kernels have no ONNX form
    ids, mask = model.tokenized(["one two three", "four"], 16)
    axes = {name: {0: "texts", 1: "length"} for name in (*INPUTS, "tokens", "importance")}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # tracing warns of every shape it takes as it is
        torch.onnx.export(
            model,
            (ids, mask),
            str(path),
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_axes={**axes, "pooled": {0: "texts"}},
            opset_version=OPSET,
            dynamo=False,
        )


def _card(graph: Path, name: str, model: TokenEncoder) -> dict[str, Any]:
    return {
        "name": name,
        "sha256": hashlib.sha256(graph.read_bytes()).hexdigest(),
        "tokenizer_sha256": hashlib.sha256(model.tokenizer_json.encode()).hexdigest(),
        "dimension": model.dimension,
        "token_dimension": model.token_dimension,
    }


def _cosines(fp32: OnnxEncoder, int8: OnnxEncoder, sources: Sequence[Source]) -> dict[str, Any]:
    """Cosine of each text's pooled vector in int8 and in fp32."""
    found = []
    for source in sources:
        for texts, most in (
            ([document(skill) for skill in source.roster], DOCUMENT_TOKENS),
            ([turn.text for turn in source.turns], REQUEST_TOKENS),
        ):
            pair = fp32.encode(texts, most).pooled, int8.encode(texts, most).pooled
            found.append((pair[0] * pair[1]).sum(axis=1))
    cosines = np.concatenate(found)
    return {
        "cosine_int8_fp32_mean": round(float(cosines.mean()), 4),
        "cosine_int8_fp32_least": round(float(cosines.min()), 4),
    }
