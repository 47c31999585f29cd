"""A run as a command, a page or a server starts it: options, checks, jobs."""
