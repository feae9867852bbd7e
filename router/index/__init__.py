"""Indexes of large rosters: built by parts, shared by processes, searched in two steps."""
