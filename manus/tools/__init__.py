"""What an agent can do; the one place that executes a call, starts a process, resolves a path."""
