"""Processes, and the persistent shell."""
