"""Charts from data files: what is asked for, and the process that reads, computes and draws."""
