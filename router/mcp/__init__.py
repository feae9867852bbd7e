"""`skill-router mcp`: the router as a server of the Model Context Protocol."""
