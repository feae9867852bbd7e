"""A soak of the resident service under faults: ``python -m eval.soak``."""
