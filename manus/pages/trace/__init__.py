"""One trace of a run, read from the checkpoints, for whatever shows what was done."""
