"""Hostile skills planted in a roster, and what they steal."""
