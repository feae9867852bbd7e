"""Checkpoints: one file that holds an encoder, where its training is, and what it was made of."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from eval.files import write_whole
from eval.train.errors import TrainError
from eval.train.model import TokenEncoder, from_folder
from eval.train.pair_model import PairModel
from router.local.torch_encoder import MINILM_NAMES, minilm_folder

FORMAT = "skill-router encoder checkpoint 1"
FILE = "checkpoint.pt"


@dataclass
class Checkpoint:
    """A checkpoint's content.

    Attributes:
        weights: The module's state.
        config: Configuration of the body.
        tokenizer: Content of its `tokenizer.json`.
        token_dimension: Length of a projected token vector; 0 of a pair scorer.
        made_of: Stage, settings and data digests; for an average those of its parts.
        progress: Step, optimizer, generators and draws; empty when it cannot be trained on.
        scores: Scores on rosters it was not trained on; empty until training is done.
    """

    weights: dict[str, Tensor]
    config: dict[str, Any]
    tokenizer: str
    token_dimension: int
    made_of: dict[str, Any]
    progress: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the weights."""
        return weights_digest(self.weights)

    def model(self) -> TokenEncoder:
        """The encoder.

        Raises:
            TrainError: If it is a pair scorer, or the weights do not belong to the configuration.
        """
        from transformers import AutoConfig, AutoModel

        if not self.token_dimension:
            raise TrainError("the checkpoint is of a pair scorer; give one of an encoder")
        try:
            settings = {k: v for k, v in self.config.items() if k != "auto_map"}
            config = AutoConfig.for_model(**settings)
            body = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
            model = TokenEncoder(body.float(), self.tokenizer, self.token_dimension)
            model.load_state_dict(self.weights)
        except Exception as error:  # transformers and tokenizers raise types of their own
            raise TrainError(
                f"the checkpoint does not hold together ({error}); train it again"
            ) from error
        return model

    def pair_model(self) -> PairModel:
        """The pair scorer.

        Raises:
            TrainError: If it is an encoder, or the weights do not belong to the configuration.
        """
        if self.token_dimension:
            raise TrainError("the checkpoint is of an encoder; give one of a pair scorer")
        try:
            model = PairModel(int(self.config["dimension"]))
            model.load_state_dict(self.weights)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise TrainError(
                f"the checkpoint does not hold together ({error}); train it again"
            ) from error
        return model

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        buffer = io.BytesIO()
        torch.save({"format": FORMAT, **vars(self)}, buffer)
        write_whole(path, buffer.getvalue())


def weights_digest(weights: dict[str, Tensor]) -> str:
    """SHA-256 (hex) over names and values, in the order of names."""
    state = hashlib.sha256()
    for name, value in sorted(weights.items()):
        state.update(name.encode())
        state.update(value.detach().cpu().contiguous().numpy().tobytes())
    return state.hexdigest()


def checkpoint_of(model: TokenEncoder | PairModel, made_of: dict[str, Any]) -> Checkpoint:
    """A checkpoint of an encoder as it is now; it shares the encoder's memory."""
    return Checkpoint(
        weights=model.state_dict(),
        config=model.config,
        tokenizer=model.tokenizer_json,
        token_dimension=model.token_dimension,
        made_of=made_of,
    )


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint. Nothing in it is ever run.

    Args:
        path: The file, or the folder that `train encoder` wrote it to.

    Raises:
        TrainError: If it cannot be read or is no checkpoint.
    """
    path = Path(path).expanduser()
    path = path / FILE if path.is_dir() else path
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise TrainError(
            f"{path}: cannot be read ({error.strerror}); give a checkpoint.pt or its folder"
        ) from error
    except Exception as error:  # a damaged file fails in many ways
        raise TrainError(
            f"{path}: is no checkpoint, or damaged ({type(error).__name__}); make it with "
            "skill-router train encoder"
        ) from error
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise TrainError(f"{path}: is no checkpoint of skill-router train encoder or average")
    kinds = {
        "weights": dict,
        "config": dict,
        "tokenizer": str,
        "token_dimension": int,
        "made_of": dict,
        "progress": dict,
        "scores": dict,
    }
    wrong = [part for part, kind in kinds.items() if not isinstance(content.get(part), kind)]
    if wrong or set(content) != set(kinds):
        raise TrainError(f"{path}: lacks {', '.join(wrong) or 'a part'}; train it again")
    return Checkpoint(**content)


def load_start(name: str) -> TokenEncoder:
    """The encoder to start from: "minilm", a checkpoint, or a folder with a transformers model.

    Raises:
        TrainError: If there is none.
        EncoderError: If "minilm" is not installed.
    """
    if name in MINILM_NAMES:
        return from_folder(minilm_folder())
    path = Path(name).expanduser()
    if path.is_dir() and not (path / FILE).is_file():
        return from_folder(path)
    return load_checkpoint(path).model()


def average(first: Checkpoint, second: Checkpoint) -> Checkpoint:
    """The mean of two checkpoints' weights.

    Only checkpoints that were trained from the same start lie close enough for their mean to be
    an encoder ("model soup", Wortsman et al. 2022).

    Raises:
        TrainError: If their bodies or tokenizers differ, or they had different starts.
    """
    starts = {str(one.made_of.get("start")) for one in (first, second)}
    alike = (first.config, first.tokenizer, first.token_dimension) == (
        second.config,
        second.tokenizer,
        second.token_dimension,
    )
    shapes = [{k: v.shape for k, v in one.weights.items()} for one in (first, second)]
    if not alike or shapes[0] != shapes[1]:
        raise TrainError("the checkpoints are of different bodies; average two of one body")
    if len(starts) != 1:
        raise TrainError(
            "the checkpoints were trained from different starts, so their mean is no encoder; "
            "train both with the same --init"
        )
    weights = {
        key: (value + second.weights[key]) / 2 if value.is_floating_point() else value
        for key, value in first.weights.items()
    }
    return Checkpoint(
        weights=weights,
        config=first.config,
        tokenizer=first.tokenizer,
        token_dimension=first.token_dimension,
        made_of={"stage": "average", "of": [first.made_of, second.made_of]},
    )
