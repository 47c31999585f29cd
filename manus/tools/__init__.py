"""What an agent can do: the tools, one file or folder each."""
