"""Fit a history into a request: truncation, compaction, summaries."""
