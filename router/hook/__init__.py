"""`skill-router hook`: the router as a UserPromptSubmit hook of Claude Code and Codex."""
