"""How much wording and order matter: variants compared on the same requests."""

from eval.sensitivity.description import EditReport, Moved, concerned, edit, neighbours
from eval.sensitivity.picks import AgentPicks, Picker, RouterPicks, index_in_order
from eval.sensitivity.spread import SensitivityReport, Spread, VariantScore, compare, spread_of
from eval.sensitivity.variants import (
    ORIGINAL,
    SensitivityError,
    Setup,
    Variant,
    read_variants,
    set_up,
    shuffles,
)

__all__ = [
    "ORIGINAL",
    "AgentPicks",
    "EditReport",
    "Moved",
    "Picker",
    "RouterPicks",
    "SensitivityError",
    "SensitivityReport",
    "Setup",
    "Spread",
    "Variant",
    "VariantScore",
    "compare",
    "concerned",
    "edit",
    "index_in_order",
    "neighbours",
    "read_variants",
    "set_up",
    "shuffles",
    "spread_of",
]
