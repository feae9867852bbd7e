"""Thresholds from labelled requests: chosen on some, measured on others."""

from eval.tune.objective import AgentEffects, NeedlessAtMost, Objective, WeightedCost
from eval.tune.result import Outcome, Scores, TuneResult, Verdict
from eval.tune.stages import StageOutputs, TuneError, collect, disagreements
from eval.tune.store import read_outputs, write_outputs
from eval.tune.sweep import Counts, Grid, sweep
from eval.tune.tune import SHORTLISTS, pareto_front, thresholds_file, tune

__all__ = [
    "SHORTLISTS",
    "AgentEffects",
    "Counts",
    "Grid",
    "NeedlessAtMost",
    "Objective",
    "Outcome",
    "Scores",
    "StageOutputs",
    "TuneError",
    "TuneResult",
    "Verdict",
    "WeightedCost",
    "collect",
    "disagreements",
    "pareto_front",
    "read_outputs",
    "sweep",
    "thresholds_file",
    "tune",
    "write_outputs",
]
