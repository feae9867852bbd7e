"""The pair scorer as a torch module: it compares a request with a skill, token by token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from router.local.presence import PRESENCE

WIDTH = 96
SKILL_TOKENS = 160
"""Most tokens of a skill; as many as the index keeps."""
_HEADS = 4
_FAR = -1e4


class PairModel(nn.Module):
    """Decomposable attention over token vectors (Parikh et al. 2016), then self-attention.

    Each token of the request is aligned with the tokens of the skill that are like it, compared
    with them, and the comparisons see each other before they are summed up; each token of the
    skill is compared with the request likewise. It reads the vectors that the index keeps, so a
    pair costs about a millisecond. Vectors put look-alikes side by side, so it is also told which
    words of the request stand in the skill as they are.

    A logit of 0 is silence's: a skill above it is likelier right than no skill at all.

    Args:
        dimension: Length of a token vector.
    """

    bf16 = False
    token_dimension = 0
    tokenizer_json = ""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension
        self.request = nn.Linear(dimension, WIDTH)
        self.skill = nn.Linear(dimension, WIDTH)
        self.place = nn.Embedding(SKILL_TOKENS, WIDTH)
        nn.init.normal_(self.place.weight, std=0.02)
        self.align_request = nn.Linear(dimension, WIDTH // 2, bias=False)
        self.align_skill = nn.Linear(dimension, WIDTH // 2, bias=False)
        self.sharpness = nn.Parameter(torch.tensor(12.0))
        self.compare = _two_layers(4 * WIDTH + 4 + 2 * len(PRESENCE), 160, WIDTH)
        self.compare_skill = _two_layers(2 * WIDTH + 2, 96, WIDTH // 2)
        self.attention = _SelfAttention()
        self.weight = nn.Linear(WIDTH, 1)
        summed = 2 * WIDTH + WIDTH // 2
        self.score = nn.Sequential(nn.LayerNorm(summed), *_two_layers(summed, WIDTH, 1))

    @property
    def config(self) -> dict[str, Any]:
        """What its shape follows from."""
        return {"dimension": self.dimension}

    def small_parameters(self) -> list[Tensor]:
        """Nothing: all of it starts from nothing, at one rate."""
        return []

    def forward(
        self,
        request: Tensor,
        importance: Tensor,
        presence: Tensor,
        asked: Tensor,
        skill: Tensor,
        said: Tensor,
    ) -> Tensor:
        """Logits of pairs.

        Args:
            request: Token vectors of the requests, unit length, (m, t, k).
            importance: Weight of each token, sum 1 a request, (m, t).
            presence: What of each token is present in the skill, columns as in
                `router.local.presence.PRESENCE`, (m, t, 4).
            asked: 1 for a token, 0 for padding, (m, t).
            skill: Token vectors of the skills, (m, l, k).
            said: 1 for a token, 0 for padding, (m, l).

        Returns:
            Shape (m,).
        """
        asked_far, said_far = (1.0 - asked) * _FAR, (1.0 - said) * _FAR
        cosines = request @ skill.transpose(1, 2)
        likeness = (
            self.sharpness * cosines
            + (self.align_request(request) @ self.align_skill(skill).transpose(1, 2))
            / (WIDTH // 2) ** 0.5
        )
        to_skill = (likeness + said_far[:, None, :]).softmax(-1)
        to_request = (likeness + asked_far[:, :, None]).softmax(1)
        words = self.request(request)
        text = self.skill(skill) + self.place.weight[: skill.shape[1]]
        aligned = to_skill @ text
        best = (cosines + said_far[:, None, :]).amax(-1)
        usual = (to_skill * cosines).sum(-1)
        heavy = importance * 10
        numbers = [torch.stack([best, usual, heavy, best * heavy], -1)]
        numbers += [presence, presence * heavy[..., None]]
        compared = self.compare(
            torch.cat([words, aligned, words - aligned, words * aligned, *numbers], -1)
        )
        compared = self.attention(compared, asked_far)
        weights = self.weight(compared)[..., 0] + torch.log(importance + 1e-4) + asked_far
        mean = (compared * weights.softmax(-1)[..., None]).sum(1)
        highest = (compared + asked_far[..., None]).amax(1)
        matched = (cosines + asked_far[:, :, None]).amax(1)
        back = torch.cat(
            [text, text * (to_request.transpose(1, 2) @ words),
             torch.stack([matched, matched * matched], -1)], -1
        )  # fmt: skip
        covered = (self.compare_skill(back) + said_far[..., None]).amax(1)
        logits: Tensor = self.score(torch.cat([mean, highest, covered], -1))[:, 0]
        return logits


class _SelfAttention(nn.Module):
    """One encoder layer (Vaswani et al. 2017), normalized after each half."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.wide = _two_layers(WIDTH, 2 * WIDTH, WIDTH)
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor, far: Tensor) -> Tensor:
        m, t = tokens.shape[0], tokens.shape[1]
        parts = (
            self.project(tokens).reshape(m, t, 3, _HEADS, WIDTH // _HEADS).permute(2, 0, 3, 1, 4)
        )
        scores = parts[0] @ parts[1].transpose(-1, -2) / (WIDTH // _HEADS) ** 0.5
        seen = (scores + far[:, None, None, :]).softmax(-1) @ parts[2]
        tokens = self.first(tokens + self.out(seen.transpose(1, 2).reshape(m, t, WIDTH)))
        normalized: Tensor = self.second(tokens + self.wide(tokens))
        return normalized


def _two_layers(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.GELU(), nn.Dropout(0.15), nn.Linear(hidden, outputs)
    )
