"""The commands that measure and train."""
