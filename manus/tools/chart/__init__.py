"""Charts from data files: the specification, and the worker process that reads and draws."""
