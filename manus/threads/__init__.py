"""What is stored of a thread: checkpoints, journal, inbox, snapshots, archive and outputs."""
