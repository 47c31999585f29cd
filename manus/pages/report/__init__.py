"""One page about a thread, made of its trace and of the files in its workspace."""
