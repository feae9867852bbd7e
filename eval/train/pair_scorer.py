"""`train pair-scorer`: a body that has learned to encode learns to read pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from eval.train.checkpoint import FILE, Checkpoint, load_checkpoint, load_start, weights_digest
from eval.train.encoder import held_out, make_folder, same_run, source_digests
from eval.train.errors import TrainError
from eval.train.labelled import find_wrong
from eval.train.loop import Loop, OnStep, Settings
from eval.train.model import has_bf16
from eval.train.pair_model import PairModel
from eval.train.pair_stage import PairScorerStage
from eval.train.pairs import read_pairs
from eval.train.sampling import PairSampler
from eval.train.sources import Source
from router.local.pair_text import pair_text

STAGE = "pair-scorer"
_LOOKED_AT = 4
_TURNS = 60


def train_pair_scorer(
    settings: Settings,
    pairs: str | Path,
    init: str,
    out: str | Path,
    *,
    train_on: Sequence[Source],
    score_on: Sequence[Source] = (),
    every: int = 50,
    on_step: OnStep = lambda step, choice, single: None,
) -> Checkpoint:
    """Train, or go on with training that was stopped.

    Args:
        settings: What to do; its stage is `STAGE`.
        pairs: A pairs file.
        init: The encoder whose body it starts from; see `load_start`. That encoder also finds
            the skills that look right.
        out: Folder of the checkpoint; made when missing. When it holds a checkpoint of the same
            run, training goes on there and ends as if it had never been stopped.
        train_on: Labelled rosters.
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
    skills, pairs_digest = read_pairs(pairs)
    encoder = load_start(init)
    made_of = {
        **asdict(settings),
        "start": weights_digest(encoder.state_dict()),
        "init": Path(init).name,
        "pairs": pairs_digest,
        "groups": source_digests(train_on),
    }
    before = load_checkpoint(path) if path.exists() else None
    if before is not None:
        same_run(made_of, before.made_of, path)
        if before.scores:
            return before
        wrong = before.progress["draws"]["wrong"]
        model = before.pair_model()
        model.bf16 = bool(before.progress["bf16"])
    else:
        encoder.bf16 = has_bf16()
        wrong = find_wrong(encoder, train_on)
        model = PairModel(encoder.body, encoder.tokenizer_json)
        model.bf16 = has_bf16()
    phrases = PairSampler(skills, settings.seed)
    stage = PairScorerStage(train_on, wrong, phrases, settings.batch, settings.seed)
    loop = Loop(settings, model, stage)
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
def pair_scores(model: PairModel, sources: Sequence[Source]) -> dict[str, Any]:
    """How well the scorer alone tells right skills from skills that look right.

    Args:
        model: The scorer.
        sources: Rosters with labelled turns; at most 60 turns of six of them are read.

    Returns:
        `first`: share of covered turns whose right skill beats four that look right; `auc`: area
        under the ROC curve of "the best candidate is right" over all turns. Empty without turns.
    """
    from sklearn.metrics import roc_auc_score

    model.eval()
    chosen = [
        Source(source.group, source.roster, source.turns[:: max(1, len(source.turns) // _TURNS)])
        for source in held_out(sources)
    ]
    first: list[bool] = []
    best: list[float] = []
    right: list[bool] = []
    for source, looked in zip(chosen, _by_source(find_wrong(None, chosen), chosen), strict=True):
        skills = {skill.name: pair_text(skill) for skill in source.roster}
        names = source.roster.names
        for turn, rows in zip(source.turns, looked, strict=True):
            asked = [] if turn.gold is None else [turn.gold]
            asked += [names[row] for row in dict.fromkeys(rows)][:_LOOKED_AT]
            if not asked:
                continue
            logits: NDArray[np.float32] = model.logits(
                [(turn.text, skills[name]) for name in asked]
            ).numpy()
            hit = turn.gold is not None and int(logits.argmax()) == 0
            if turn.gold is not None:
                first.append(hit)
            best.append(float(logits.max()))
            right.append(hit)
    if not first or len(set(right)) < 2:
        return {}
    return {
        "first": round(float(np.mean(first)), 4),
        "auc": round(float(roc_auc_score(right, best)), 4),
    }


def _by_source(rows: list[list[int]], sources: Sequence[Source]) -> list[list[list[int]]]:
    parts, start = [], 0
    for source in sources:
        parts.append(rows[start : start + len(source.turns)])
        start += len(source.turns)
    return parts
