"""View and edit files of the workspace, and undo edits."""
