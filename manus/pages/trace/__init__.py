"""The trace of a run, read from checkpoints; used by the report, the page and `manus show`."""
