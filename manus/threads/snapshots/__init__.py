"""Snapshots of the workspace's files, so that a thread can be rewound together with its files."""
