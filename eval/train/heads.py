"""`train heads`: fusion, gate, fits and default thresholds, from labelled turns to one file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.data import LabelledTurn, RequestsError, load_turns, requests_digest
from eval.files import write_whole
from eval.metrics import expected_calibration_error
from eval.paths import requests_folder
from eval.train.crossval import (
    HeldOut,
    Outcome,
    Stacked,
    answers,
    cross_validate,
    outcome,
    read_examples,
    stack,
)
from eval.train.fits import platt
from eval.train.fold_heads import Fits, fold_heads
from eval.train.fusion import learn_fusion
from eval.train.gate import GateExamples, learn_gate
from eval.train.prepare import Prepared, prepare, turn_vector
from eval.train.sources import Source
from router.local.encoder import Encoder
from router.local.features import REREAD_NAMES
from router.local.heads import Heads, RereadHead
from router.local.pair_scorer import PairScorer

Report = Callable[[str], None]

GATE_GROUP = "gate.jsonl"
SMALL = (12, 35)
"""Sizes of the small rosters that the fits are also learned on."""
GRID_GATE = tuple(round(x, 2) for x in np.arange(0.2, 0.66, 0.05))
GRID_FIT = tuple(round(x, 2) for x in np.arange(0.05, 0.96, 0.01))


@dataclass(frozen=True)
class Trained:
    """Heads and what they reached on rosters they were not learned on.

    Attributes:
        heads: The heads.
        scores: Cross-validated scores of the fits without a pair scorer.
        reread: The same of the fits with it; empty without one.
        folds: Groups of each of five parts and the heads learned without them; empty when they
            were not asked for.
    """

    heads: Heads
    scores: dict[str, Any]
    reread: dict[str, Any]
    folds: list[tuple[list[str], Heads]] = field(default_factory=list)


def train_heads(
    sources: Sequence[Source],
    encoder: Encoder,
    *,
    out_of_fold: Mapping[str, Encoder] | None = None,
    scorer: PairScorer | None = None,
    scorers_out_of_fold: Mapping[str, PairScorer] | None = None,
    needless_at_most: float = 0.13,
    shortlist: int = 3,
    thinned: int = 3,
    seed: int = 0,
    also_folds: bool = False,
    report: Report = print,
) -> Trained:
    """Learn everything that comes after the encoder.

    Args:
        sources: Rosters with labelled turns, at least two.
        encoder: The encoder the heads are for.
        out_of_fold: For a group whose turns the encoder was trained on, an encoder trained
            without it: fits learned on an encoder's own training turns would trust it too much.
        scorer: The pair scorer that will read the shortlist, if any.
        scorers_out_of_fold: The same as `out_of_fold` for the pair scorer.
        needless_at_most: Bound on needless suggestions when the default thresholds are chosen.
        shortlist: Default size of the shortlist.
        thinned: See `prepare`.
        seed: Seed of everything random.
        also_folds: Whether heads are also learned without each fifth of the rosters.
        report: Told what happens.

    Returns:
        The heads; the default thresholds are those with most right suggestions under the bound,
        on rosters that were held out.
    """
    if len(sources) < 2:
        raise RequestsError(
            "heads are learned on some rosters and checked on others; give at least one more "
            "roster with labelled turns by --data"
        )
    prepared: list[Prepared] = []
    for number, source in enumerate(sources, start=1):
        chosen = (out_of_fold or {}).get(source.group, encoder)
        prepared += prepare(
            source.group,
            source.roster,
            source.turns,
            chosen,
            thinned=thinned,
            seed=seed,
            gate_encoder=encoder,
            small=SMALL,
        )
        report(f"signals {number}/{len(sources)}: {source.group}, {len(source.turns)} turns")
    gates = gate_examples(prepared)
    gates[GATE_GROUP] = _gate_file(encoder)
    report("cross-validating gate, fusion and fits over rosters")
    scorers = None
    if scorer is not None:
        apart = scorers_out_of_fold or {}
        scorers = {s.group: apart.get(s.group, scorer) for s in sources}
    stacked = stack(prepared, gates, scorers=scorers, report=report)
    report(f"learning fits from {len(stacked.examples.labels)} candidates")
    logits = cross_validate(stacked.examples, stacked.groups, seed=seed)
    scale = platt(logits, stacked.examples.labels, stacked.examples.weights)
    logits = (logits * scale["slope"] + scale["offset"]).astype(np.float32)
    held = answers(stacked, stacked.examples, logits)
    gate, fit, reached = choose(held, needless_at_most, shortlist)
    fits = Fits(stacked.examples, stacked.groups, scale)
    reread: RereadHead | None = None
    reread_fits: Fits | None = None
    reread_scores: dict[str, Any] = {}
    if scorer is not None:
        report("learning fits with the pair scorer")
        reread, reread_fits, reread_scores = _learn_reread(
            stacked, logits, scorer, needless_at_most, shortlist, seed
        )
    report("learning on all rosters")
    heads = Heads(
        encoder=encoder.name,
        encoder_digest=encoder.digest,
        wide=learn_fusion(prepared),
        gate=learn_gate(GateExamples.joined(list(gates.values()))),
        fits=fits.learn(seed),
        thresholds={"gate": gate, "fit": fit, "shortlist": shortlist},
        reread=reread,
        trained_on={
            "seed": seed,
            "rosters": {s.group: s.roster.digest[:16] for s in sources},
            "requests": {s.group: requests_digest(s.turns)[:16] for s in sources},
        },
    )
    parts: list[tuple[list[str], Heads]] = []
    if also_folds:
        for part in fold_heads(heads, prepared, gates, fits, reread_fits, seed):
            parts.append(part)
            report(f"learning without some rosters {len(parts)}/5: {', '.join(part[0])}")
    return Trained(heads, _scores(held, reached), reread_scores, parts)


def _learn_reread(
    stacked: Stacked,
    logits: NDArray[np.float32],
    scorer: PairScorer,
    needless_at_most: float,
    shortlist: int,
    seed: int,
) -> tuple[RereadHead, Fits, dict[str, Any]]:
    """Fits that the pair scorer takes part in, what they are learned from, and their
    cross-validated scores."""
    examples, groups = read_examples(stacked, logits)
    raw = cross_validate(examples, groups, seed=seed, columns=REREAD_NAMES)
    scale = platt(raw, examples.labels, examples.weights)
    held = answers(stacked, examples, raw * scale["slope"] + scale["offset"])
    gate, fit, reached = choose(held, needless_at_most, shortlist)
    fits = Fits(examples, groups, scale, REREAD_NAMES)
    head = RereadHead(
        scorer=scorer.name,
        scorer_digest=scorer.digest,
        fits=fits.learn(seed),
        thresholds={"gate": gate, "fit": fit, "shortlist": shortlist},
    )
    return head, fits, _scores(held, reached)


def gate_examples(prepared: Sequence[Prepared]) -> dict[str, GateExamples]:
    """Gate examples of the turns that carry all three answers, by group."""
    found: dict[str, GateExamples] = {}
    for one in prepared:
        rows = [
            (vector, turn.gate_answers)
            for vector, turn in zip(one.vectors, one.turns, strict=True)
            if turn.gate_answers is not None
        ]
        if rows and one.group not in found:
            found[one.group] = GateExamples(
                np.array([vector for vector, _ in rows], dtype=np.float32),
                np.array([answer for _, answer in rows], dtype=np.bool_),
            )
    return found


def _gate_file(encoder: Encoder) -> GateExamples:
    turns = load_turns(requests_folder() / GATE_GROUP, gold_required=False)
    labelled: list[LabelledTurn] = [turn for turn in turns if turn.gate_answers is not None]
    vectors = [turn_vector(turn, encoder) for turn in labelled]
    answered = [turn.gate_answers for turn in labelled]
    return GateExamples(np.stack(vectors), np.array(answered, dtype=np.bool_))


def choose(held: HeldOut, needless_at_most: float, shortlist: int) -> tuple[float, float, Outcome]:
    """The thresholds with most right suggestions under a bound on needless ones."""
    best: tuple[float, float, Outcome] | None = None
    for gate in GRID_GATE:
        for fit in GRID_FIT:
            reached = outcome(held, gate, fit, shortlist)
            if reached.needless <= needless_at_most and (
                best is None or reached.right > best[2].right
            ):
                best = (gate, fit, reached)
    if best is None:  # nothing keeps under the bound: say as little as the grid allows
        gate, fit = GRID_GATE[-1], GRID_FIT[-1]
        return gate, fit, outcome(held, gate, fit, shortlist)
    return best


def _scores(held: HeldOut, reached: Outcome) -> dict[str, Any]:
    ranks = held.rank[held.covered]
    best = held.fits.max(axis=1)
    right = held.fits.argmax(axis=1) == held.right
    return {
        "turns": len(held.need),
        "covered": int(held.covered.sum()),
        "hit_at_1": round(float((ranks == 0).mean()), 4),
        "hit_at_3": round(float((ranks < 3).mean()), 4),
        "hit_at_10": round(float((ranks < 10).mean()), 4),
        "right": round(reached.right, 4),
        "wrong": round(reached.wrong, 4),
        "silent": round(reached.silent, 4),
        "needless": round(reached.needless, 4),
        "fit_ece": round(expected_calibration_error(best, right & held.covered), 4),
    }


def write_heads(heads: Heads, path: Path) -> None:
    """Write heads as compact JSON, whole or not at all."""
    content = json.dumps(
        heads.model_dump(exclude={"digest"}), separators=(",", ":"), sort_keys=True
    )
    write_whole(path, content + "\n")


def write_folds(trained: Trained, path: Path) -> None:
    """Write the heads of each part beside `path`, and there the file of each group.

    Args:
        trained: Heads with their `folds`.
        path: A JSON object, group to file name, as `--heads-out-of-fold` of `tune-band` takes it.
    """
    files: dict[str, str] = {}
    for number, (names, heads) in enumerate(trained.folds):
        file = path.with_name(f"{path.stem}-{number}.json")
        write_heads(heads, file)
        files |= dict.fromkeys(names, str(file))
    write_whole(path, json.dumps(files, indent=1, sort_keys=True) + "\n")
