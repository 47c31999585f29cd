"""The report of a thread as a page that follows it, on a loopback address."""
