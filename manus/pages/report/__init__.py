"""The report of a thread as one HTML page, made from its trace and its workspace."""
