"""A pair scorer of another version."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from router import EncoderError
from router.local.pair_scorer import load_pair_scorer


class _WithoutPresence(torch.nn.Module):
    def forward(self, request: Any, importance: Any, skill: Any) -> Any:
        return request.sum((1, 2)) + importance.sum(1) + skill.sum((1, 2))


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_a_pair_scorer_that_reads_something_else_is_named(tmp_path: Path) -> None:
    graph = tmp_path / "pair-scorer.onnx"
    example = (torch.ones(1, 2, 96), torch.ones(1, 2), torch.ones(1, 3, 96))
    torch.onnx.export(
        _WithoutPresence().eval(),
        example,
        str(graph),
        input_names=["request", "importance", "skill"],
        output_names=["logit"],
        dynamo=False,
    )
    card = {
        "name": "old",
        "sha256": hashlib.sha256(graph.read_bytes()).hexdigest(),
        "dimension": 96,
    }
    (tmp_path / "pair-scorer.json").write_text(json.dumps(card))
    with pytest.raises(EncoderError, match=r"presence, .* importance, request, skill; train it"):
        load_pair_scorer(str(tmp_path))
