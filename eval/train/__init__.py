"""Training of everything the local judge has learned; one module a stage."""
