"""The commands of the router itself."""
