"""`train export` of a pair scorer: from a checkpoint to the folder the router loads."""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eval.files import write_whole
from eval.train.checkpoint import Checkpoint
from eval.train.encoder import make_folder
from eval.train.export import OPSET, Exported
from eval.train.pair_model import PairModel
from eval.train.quantize import quantize
from eval.train.sources import Source
from router.local.pair_scorer import OnnxPairScorer
from router.local.pair_text import pair_text

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_COMPARED = 200


def export_pair_scorer(
    checkpoint: Checkpoint, out: str | Path, name: str, compare_on: Sequence[Source]
) -> Exported:
    """Write the int8 graph, its tokenizer and its card, and compare it with fp32.

    Args:
        checkpoint: The pair scorer.
        out: The folder; made when missing.
        name: Name in `pair-scorer.json`.
        compare_on: Rosters with labelled turns, at least one.

    Raises:
        TrainError: If the folder cannot be made, or the checkpoint is of an encoder.
    """
    model = checkpoint.pair_model().eval()
    folder = Path(out).expanduser()
    make_folder(folder)
    with tempfile.TemporaryDirectory() as temporary:
        full, small = Path(temporary) / "fp32", Path(temporary) / "int8"
        full.mkdir()
        small.mkdir()
        _write_graph(model, full / "pair-scorer.onnx")
        quantize(full / "pair-scorer.onnx", small / "pair-scorer.onnx")
        for where in (full, small):
            write_whole(where / "tokenizer.json", model.tokenizer_json)
            graph = (where / "pair-scorer.onnx").read_bytes()
            card = {"name": name, "sha256": hashlib.sha256(graph).hexdigest()}
            write_whole(where / "pair-scorer.json", json.dumps(card))
        scores = {
            "pair_scorer_megabytes": round(len(graph) / 1e6, 1),
            **_compared(OnnxPairScorer(full), OnnxPairScorer(small), compare_on),
        }
        # The card goes last: a folder that was only half written does not load.
        for file in ("tokenizer.json", "pair-scorer.onnx"):
            write_whole(folder / file, (small / file).read_bytes())
        write_whole(folder / "pair-scorer.json", json.dumps(card, indent=2) + "\n")
    return Exported(folder, card, scores)


def _write_graph(model: PairModel, path: Path) -> None:
    model.body.config._attn_implementation = "eager"  # the fused kernels have no ONNX form
    inputs = model.tokenized([("one two three", "four"), ("five", "six")])
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # tracing warns of every shape it takes as it is
        torch.onnx.export(
            model,
            inputs,
            str(path),
            input_names=list(INPUTS),
            output_names=["logit"],
            dynamic_axes={
                **{one: {0: "pairs", 1: "length"} for one in INPUTS},
                "logit": {0: "pairs"},
            },
            opset_version=OPSET,
            dynamo=False,
        )


def _compared(
    fp32: OnnxPairScorer, int8: OnnxPairScorer, sources: Sequence[Source]
) -> dict[str, Any]:
    """How far the int8 logits of right skills are from the fp32 ones."""
    pairs = [
        (turn.text, pair_text(source.roster[turn.gold]))
        for source in sources
        for turn in source.turns
        if turn.gold is not None
    ][:_COMPARED]
    full, small = fp32.score(pairs), int8.score(pairs)
    return {
        "logit_difference_mean": round(float(np.abs(full - small).mean()), 4),
        "logit_correlation": round(float(np.corrcoef(full, small)[0, 1]), 4),
    }
