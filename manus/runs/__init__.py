"""Runs as started by a command, a page or a server: options, checks, jobs."""
