"""The router inside an agent: the block in every request, the cached prompt as it was."""
