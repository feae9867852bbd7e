"""Hostile inputs for every public entry: ``python -m eval.fuzz``."""
