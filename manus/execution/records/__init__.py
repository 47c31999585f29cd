"""Where the journals of threads are stored: beside the checkpoints, or in files of the user."""
