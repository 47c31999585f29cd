"""Storage of the threads' journals: next to the checkpoints, or in files of the user."""
