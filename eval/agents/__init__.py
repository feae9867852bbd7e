"""Agents that are measured: what they are sent, what they load, and where results are kept."""
