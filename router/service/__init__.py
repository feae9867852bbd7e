"""The resident service: a router that stays loaded between turns, and the client that asks it."""
