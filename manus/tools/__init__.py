"""The tools of an agent, one file or folder each."""
