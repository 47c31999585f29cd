"""The user's own tools: the versions of Python, Node and others that a workspace uses."""
