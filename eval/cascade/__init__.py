"""Measuring a cascade, and choosing its uncertain band."""
