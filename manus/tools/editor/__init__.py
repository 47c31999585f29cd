"""Files of the workspace: read, shown, changed, undone."""
