"""What keeps the programs that a model starts inside the workspace."""
