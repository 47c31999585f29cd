"""The folder that a run works in: its files, opened by descriptors, and their text."""
