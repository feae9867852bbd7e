"""`train pair-scorer`: what reads the shortlist again, from token vectors of labelled rosters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eval.train.checkpoint import FILE, Checkpoint, load_checkpoint
from eval.train.encoder import make_folder, same_run
from eval.train.errors import TrainError
from eval.train.loop import Loop, OnStep, Settings
from eval.train.pair_data import TokenSource
from eval.train.pair_model import PairModel
from eval.train.pair_stage import PairScorerStage, pair_logits

STAGE = "pair-scorer"
_LOOKED_AT = 4


def train_pair_scorer(
    settings: Settings,
    made_from: dict[str, Any],
    out: str | Path,
    *,
    train_on: Sequence[TokenSource],
    score_on: Sequence[TokenSource] = (),
    every: int = 50,
    on_step: OnStep = lambda step, choice, single: None,
) -> Checkpoint:
    """Train, or go on with training that was stopped.

    Args:
        settings: What to do; its stage is `STAGE`.
        made_from: Digests of the encoders and of the data.
        out: Folder of the checkpoint; made when missing. When it holds a checkpoint of the same
            run, training goes on there and ends as if it had never been stopped.
        train_on: Labelled rosters as token vectors.
        score_on: Rosters for the scores; none of `train_on`.
        every: Steps between checkpoints.
        on_step: Told the step's number and its losses of the choice and of single pairs.

    Returns:
        The finished checkpoint, which also lies in `out`.

    Raises:
        TrainError: If the data does not suffice, the loss is no number, or `out` holds a
            checkpoint of another run.
    """
    if not train_on:
        raise TrainError("a pair scorer is trained on labelled rosters; give --data or --archive")
    path = Path(out).expanduser() / FILE
    make_folder(path.parent)
    torch.manual_seed(settings.seed)
    made_of = {**asdict(settings), **made_from}
    model = PairModel(train_on[0].skills[0].shape[1])
    before = load_checkpoint(path) if path.exists() else None
    if before is not None:
        same_run(made_of, before.made_of, path)
        if before.scores:
            return before
        model = before.pair_model()
    loop = Loop(settings, model, PairScorerStage(train_on, settings.batch, settings.seed))
    if before is not None:
        loop.restore(before.progress)
    while loop.step < settings.steps:
        on_step(loop.step + 1, *loop.advance())
        if loop.step % every == 0 and loop.step < settings.steps:
            loop.checkpoint(made_of).save(path)
    finished = loop.checkpoint(made_of)
    finished.scores = {**loop.summary(), **pair_scores(model, score_on)}
    finished.save(path)
    return finished


@torch.no_grad()
def pair_scores(model: PairModel, sources: Sequence[TokenSource]) -> dict[str, float]:
    """How well the scorer alone tells right skills from skills that look right.

    Args:
        model: The scorer.
        sources: Labelled rosters.

    Returns:
        `first`: share of covered turns whose right skill beats the four that look most right;
        `auc`: area under the ROC curve of the best logit, for "the best candidate is right", over
        all turns. Empty without turns.
    """
    from sklearn.metrics import roc_auc_score

    model.eval()
    first: list[bool] = []
    best: list[float] = []
    right: list[bool] = []
    for source in sources:
        for turn, (gold, alike) in enumerate(zip(source.gold, source.alike, strict=True)):
            rows = [gold] if gold >= 0 else []
            rows += [row for row in alike if row != gold][:_LOOKED_AT]
            logits = pair_logits(model, [(source, turn, row) for row in rows]).numpy()
            hit = gold >= 0 and int(logits.argmax()) == 0
            if gold >= 0:
                first.append(hit)
            best.append(float(logits.max()))
            right.append(hit)
    if not first or len(set(right)) < 2:
        return {}
    return {
        "first": round(float(np.mean(first)), 4),
        "auc": round(float(roc_auc_score(right, best)), 4),
    }
