"""What skills save, and what they cost: tokens, money and time."""

from eval.cost.arithmetic import Cost, Place, ProcedureCost, break_even, cost, procedure_cost
from eval.cost.estimate import estimate
from eval.cost.latency import Latency, latency_effect
from eval.cost.procedures import Procedure, Use
from eval.cost.reading import CostError, read_procedures, use_of

__all__ = [
    "Cost",
    "CostError",
    "Latency",
    "Place",
    "Procedure",
    "ProcedureCost",
    "Use",
    "break_even",
    "cost",
    "estimate",
    "latency_effect",
    "procedure_cost",
    "read_procedures",
    "use_of",
]
