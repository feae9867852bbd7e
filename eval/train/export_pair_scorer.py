"""`train export` of a pair scorer: from a checkpoint to the folder the router loads."""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from eval.files import write_whole
from eval.train.checkpoint import Checkpoint
from eval.train.encoder import make_folder
from eval.train.export import OPSET, Exported
from eval.train.pair_model import PairModel
from router.local.pair_scorer import OnnxPairScorer
from router.local.presence import PRESENCE

INPUTS = ("request", "importance", "presence", "skill")


def export_pair_scorer(checkpoint: Checkpoint, out: str | Path, name: str) -> Exported:
    """Write the graph and its card. It stays fp32: it is a hundredth of the encoder's size.

    Args:
        checkpoint: The pair scorer.
        out: The folder; made when missing.
        name: Name in `pair-scorer.json`.

    Raises:
        TrainError: If the folder cannot be made, or the checkpoint is of an encoder.
    """
    model = checkpoint.pair_model().eval()
    folder = Path(out).expanduser()
    make_folder(folder)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "pair-scorer.onnx"
        _write_graph(model, path)
        graph = path.read_bytes()
    card = {
        "name": name,
        "sha256": hashlib.sha256(graph).hexdigest(),
        "dimension": model.dimension,
    }
    # The card goes last: a folder that was only half written does not load.
    write_whole(folder / "pair-scorer.onnx", graph)
    write_whole(folder / "pair-scorer.json", json.dumps(card, indent=2) + "\n")
    OnnxPairScorer(folder)
    return Exported(folder, card, {"megabytes": round(len(graph) / 1e6, 2), **checkpoint.scores})


class _Alone(nn.Module):
    """One pair at a time, without padding."""

    def __init__(self, model: PairModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, request: Tensor, importance: Tensor, presence: Tensor, skill: Tensor
    ) -> Tensor:
        asked, said = torch.ones_like(importance), torch.ones_like(skill[..., 0])
        logits: Tensor = self.model(request, importance, presence, asked, skill, said)
        return logits


def _write_graph(model: PairModel, path: Path) -> None:
    example = (
        torch.randn(1, 5, model.dimension),
        torch.full((1, 5), 0.2),
        torch.ones(1, 5, len(PRESENCE)),
        torch.randn(1, 7, model.dimension),
    )
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # tracing warns of every shape it takes as it is
        torch.onnx.export(
            _Alone(model).eval(),
            example,
            str(path),
            input_names=list(INPUTS),
            output_names=["logit"],
            dynamic_axes={**{name: {1: "t"} for name in INPUTS[:3]}, "skill": {1: "l"}},
            opset_version=OPSET,
            dynamo=False,
        )
