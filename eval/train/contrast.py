"""The losses: the right skill against the others of a batch, and against silence."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from eval.train.model import TokenEncoder, Vectors

BACKWARD = 0.5
"""Weight of telling the request from the skill, beside the skill from the request."""
FIT = 0.5
"""Weight of the fit (does this skill do it?) beside the choice."""
FIT_SCALE = 0.6
"""A fit's logit is flatter than a choice's by this factor."""
_MASKED = -1e4


class Fits(NamedTuple):
    """Single pairs that are known to fit or not.

    Attributes:
        rows: Requests, length p.
        columns: Skills, length p.
        labels: 1 where the skill does what is asked, else 0; (p,).
    """

    rows: list[int]
    columns: list[int]
    labels: Tensor


def late_interaction(query: Vectors, document: Vectors, bf16: bool) -> Tensor:
    """Each query token's best cosine in a document, weighted by importance: ColBERT's MaxSim.

    Args:
        query: m requests.
        document: n documents.
        bf16: Whether to multiply in bfloat16.

    Returns:
        Scores, (m, n).
    """
    kind = torch.bfloat16 if bf16 else torch.float32
    m, length, k = query.tokens.shape
    n, longest, _ = document.tokens.shape
    cosines = query.tokens.reshape(-1, k).to(kind) @ document.tokens.reshape(-1, k).to(kind).T
    padding = (document.mask - 1).mul(4).to(kind)  # far below any cosine
    cosines = cosines.reshape(m, length, n, longest) + padding[None, None]
    return (cosines.max(-1).values.float() * query.importance[:, :, None]).sum(1)


def scores_of(model: TokenEncoder, query: Vectors, document: Vectors) -> tuple[Tensor, Tensor]:
    """Cosines of the pooled vectors, and late interaction; (m, n) each."""
    pooled = query.pooled @ document.pooled.T
    return pooled, late_interaction(query, document, model.bf16)


def pair_loss(model: TokenEncoder, query: Vectors, document: Vectors) -> tuple[Tensor, Tensor]:
    """Request i belongs to document i and to no other of the batch (InfoNCE, both ways).

    Returns:
        The loss by pooled vectors and the loss by late interaction.
    """
    target = torch.arange(len(query.pooled))
    losses = []
    for i, scores in enumerate(scores_of(model, query, document)):
        logits = scores * model.log_scales[i].exp()
        forward = functional.cross_entropy(logits, target)
        losses.append(forward + BACKWARD * functional.cross_entropy(logits.T, target))
    return losses[0], losses[1]


def roster_loss(
    model: TokenEncoder,
    query: Vectors,
    document: Vectors,
    target: Tensor,
    forbidden: Tensor,
    fits: Fits,
) -> tuple[Tensor, Tensor]:
    """The right skill, or silence, which competes as one more column at the threshold's score.

    Args:
        model: The encoder.
        query: m requests.
        document: n documents.
        target: Right column of each request; n for silence. (m,)
        forbidden: Columns that a request does not compete with, (m, n + 1) booleans.
        fits: Pairs for the binary loss.

    Returns:
        The loss by pooled vectors and the loss by late interaction.
    """
    losses = []
    for i, scores in enumerate(scores_of(model, query, document)):
        scale = model.log_scales[i].exp()
        silence = (model.thresholds[i] * scale).expand(len(scores), 1)
        logits = torch.cat([scores * scale, silence], 1).masked_fill(forbidden, _MASKED)
        loss = functional.cross_entropy(logits, target)
        if fits.rows:
            single = (scores[fits.rows, fits.columns] - model.thresholds[i]) * scale * FIT_SCALE
            loss = loss + FIT * functional.binary_cross_entropy_with_logits(single, fits.labels)
        losses.append(loss)
    return losses[0], losses[1]
