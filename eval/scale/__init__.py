"""How the router fares as a roster grows to sixty thousand skills."""
