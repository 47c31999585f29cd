"""HTML pages about runs: the conversation, the report, and the trace they are built from."""
