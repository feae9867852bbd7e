"""The pair scorer as a torch module: it reads request and skill together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from eval.train.model import Trainable
from router.local.pair_text import PAIR_TOKENS, REQUEST_TOKENS, pair_ids


class PairModel(Trainable):
    """A transformer body with one logit a pair: does this skill do what is asked?

    A logit of 0 is silence's: a skill above it is likelier right than no skill at all.

    Args:
        body: A transformers model with segment embeddings.
        tokenizer: Content of its `tokenizer.json`.
    """

    def __init__(self, body: Any, tokenizer: str) -> None:
        super().__init__(body, tokenizer)
        self.hidden = nn.Linear(self.dimension, self.dimension)
        self.score = nn.Linear(self.dimension, 1)

    def small_parameters(self) -> list[Tensor]:
        """What starts from nothing, and so learns at a higher rate than the body."""
        return [*self.hidden.parameters(), *self.score.parameters()]

    def tokenized(self, pairs: Sequence[tuple[str, str]]) -> tuple[Tensor, Tensor, Tensor]:
        """Token ids, mask and segment ids, (m, t) each, cut as the shipped scorer cuts."""
        rows = [
            pair_ids(
                self._tokenizer.encode(request[: REQUEST_TOKENS * 12]).ids,
                self._tokenizer.encode(skill[: PAIR_TOKENS * 12]).ids,
            )
            for request, skill in pairs
        ]
        ids = torch.zeros((len(rows), max(len(row) for row, _ in rows)), dtype=torch.long)
        mask, segments = torch.zeros_like(ids), torch.zeros_like(ids)
        for i, (row, its_segments) in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            segments[i, : len(row)] = torch.tensor(its_segments)
            mask[i, : len(row)] = 1
        return ids, mask, segments

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Logits of tokenized pairs, (m,)."""
        states = self.states(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        )
        mask = attention_mask.float()
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        logits: Tensor = self.score(torch.tanh(self.hidden(mean)))[:, 0]
        return logits

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """Logits of (request, skill text) pairs, (m,)."""
        scores: Tensor = self(*self.tokenized(pairs))
        return scores
