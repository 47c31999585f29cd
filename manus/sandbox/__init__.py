"""The sandbox that confines the programs of a model to the workspace."""
