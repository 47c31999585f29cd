"""The user's own tools: the Python, Node and other versions that a workspace works with."""
