"""Measuring and training: labelled turns, the benchmark, tuning, reports."""
