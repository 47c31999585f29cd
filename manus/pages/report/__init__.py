"""The report of a thread as one HTML page, built from its trace and its workspace."""
