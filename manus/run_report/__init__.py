"""One page about a thread: gathered from its checkpoints, written as HTML without a template."""
