"""Results as a table and as one self-contained page."""
