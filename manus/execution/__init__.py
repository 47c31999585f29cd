"""The execution of tool calls: checks, approval, journal, sandbox and processes."""
