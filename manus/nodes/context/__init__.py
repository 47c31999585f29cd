"""What of a history a request holds: truncation, compaction, summaries."""
