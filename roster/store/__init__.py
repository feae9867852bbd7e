"""Versioned skills: stage, evaluate, activate, roll back."""

from roster.store.compare import diff_versions
from roster.store.errors import (
    ActivationRefusedError,
    StageRefusedError,
    StoreError,
    TransferError,
    UnknownVersionError,
)
from roster.store.items import skill_items
from roster.store.place import default_path
from roster.store.records import (
    Evaluation,
    Event,
    ListedFile,
    SkillVersion,
    Snapshot,
    Staging,
    Stored,
    Versioned,
)
from roster.store.shelf import Evaluator, Shelf
from roster.store.sources import read_source
from roster.store.store import Store

__all__ = [
    "ActivationRefusedError",
    "Evaluation",
    "Evaluator",
    "Event",
    "ListedFile",
    "Shelf",
    "SkillVersion",
    "Snapshot",
    "StageRefusedError",
    "Staging",
    "Store",
    "StoreError",
    "Stored",
    "TransferError",
    "UnknownVersionError",
    "Versioned",
    "default_path",
    "diff_versions",
    "read_source",
    "skill_items",
]
