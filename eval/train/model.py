"""The trained encoder as a torch module: one body, three outputs."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from eval.train.errors import TrainError
from router.local.encoder import Encoded

TOKEN_DIMENSION = 96
_BATCH = 64


class Vectors(NamedTuple):
    """Vectors of m texts, padded to t tokens.

    Attributes:
        pooled: Mean of the token states, unit length, (m, d).
        tokens: Projected token states, unit length, (m, t, k).
        mask: 1 for a token, 0 for padding, (m, t).
        importance: Weight of each token, sum 1 a text, (m, t).
    """

    pooled: Tensor
    tokens: Tensor
    mask: Tensor
    importance: Tensor


class TokenEncoder(nn.Module):
    """A transformer body with a projection of its token states and a weight for each token.

    Beside them it learns, for pooled vectors and for late interaction alike, the factor that turns
    a cosine into a logit and the threshold past which a skill fits. The word embeddings stay as
    they are: few of them are met in training.

    Args:
        body: A transformers model.
        tokenizer: Content of its `tokenizer.json`.
        token_dimension: Length of a projected token vector.
    """

    body: Any

    def __init__(self, body: Any, tokenizer: str, token_dimension: int = TOKEN_DIMENSION) -> None:
        from tokenizers import Tokenizer

        super().__init__()
        self.body = body
        self.dimension = int(self.body.config.hidden_size)
        self.token_dimension = token_dimension
        self.projection = nn.Linear(self.dimension, token_dimension, bias=False)
        nn.init.orthogonal_(self.projection.weight)
        self.importance = nn.Linear(self.dimension, 1)
        nn.init.zeros_(self.importance.weight)
        nn.init.zeros_(self.importance.bias)
        self.thresholds = nn.Parameter(torch.tensor([0.35, 0.6]))
        self.log_scales = nn.Parameter(torch.tensor([math.log(20.0), math.log(25.0)]))
        for parameter in self.body.get_input_embeddings().parameters():
            parameter.requires_grad = False
        self.bf16 = False
        self._tokenizer: Any = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    @property
    def tokenizer_json(self) -> str:
        """Content of a `tokenizer.json` that neither pads nor cuts."""
        return str(self._tokenizer.to_str())

    @property
    def config(self) -> dict[str, Any]:
        """The body's configuration, as JSON holds it."""
        settings: dict[str, Any] = json.loads(self.body.config.to_json_string(use_diff=False))
        return settings

    def small_parameters(self) -> list[Tensor]:
        """What starts from nothing, and so learns at a higher rate than the body."""
        heads = [self.projection.weight, *self.importance.parameters()]
        return [self.thresholds, self.log_scales, *heads]

    def tokenized(self, texts: Sequence[str], max_tokens: int) -> tuple[Tensor, Tensor]:
        """Token ids and mask, (m, t) each, cut as the shipped encoder cuts."""
        rows: list[list[int]] = [
            self._tokenizer.encode(text[: max_tokens * 12]).ids for text in texts
        ]
        rows = [r if len(r) <= max_tokens else [*r[: max_tokens - 1], r[-1]] for r in rows]
        ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            mask[i, : len(row)] = 1
        return ids, mask

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pooled vectors, token vectors and importance of tokenized texts."""
        with torch.autocast("cpu", torch.bfloat16) if self.bf16 else contextlib.nullcontext():
            states = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        states = states.float()
        mask = attention_mask.float()
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        weights = functional.softplus(self.importance(states)[..., 0] + 0.5) * mask
        return (
            functional.normalize(mean, dim=-1),
            functional.normalize(self.projection(states), dim=-1),
            weights / weights.sum(1, keepdim=True),
        )

    def vectors(self, texts: Sequence[str], max_tokens: int) -> Vectors:
        """Vectors of texts, each cut to `max_tokens` tokens."""
        ids, mask = self.tokenized(texts, max_tokens)
        pooled, tokens, importance = self(ids, mask)
        return Vectors(pooled, tokens, mask.float(), importance)

    @torch.no_grad()
    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """Vectors of texts without dropout, as `router.local.encoder.Encoder.encode` gives them."""
        self.eval()
        pooled = np.zeros((len(texts), self.dimension), dtype=np.float32)
        tokens = [np.zeros((0, self.token_dimension), dtype=np.float32)] * len(texts)
        importance = [np.zeros(0, dtype=np.float32)] * len(texts)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            out = self.vectors([texts[i] for i in rows], max_tokens)
            for j, i in enumerate(rows):
                count = int(out.mask[j].sum())
                pooled[i] = out.pooled[j].numpy()
                tokens[i] = out.tokens[j, :count].numpy()
                importance[i] = out.importance[j, :count].numpy()
        return Encoded(pooled, tokens, importance)


def has_bf16() -> bool:
    """Whether this processor multiplies bfloat16 in hardware."""
    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def from_folder(folder: Path) -> TokenEncoder:
    """The encoder around an untrained body.

    Args:
        folder: Holds a transformers model with its `tokenizer.json`. Nothing is downloaded.

    Raises:
        TrainError: If it does not.
    """
    from transformers import AutoModel

    try:
        tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
        body = AutoModel.from_pretrained(str(folder), local_files_only=True)
        return TokenEncoder(body.float(), tokenizer)
    except Exception as error:  # transformers and tokenizers raise types of their own
        raise TrainError(
            f"{folder}: holds no encoder ({error}); give a checkpoint, or a folder with a "
            "transformers model and its tokenizer.json"
        ) from error
