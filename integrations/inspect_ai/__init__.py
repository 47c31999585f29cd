"""The agent as an agent of Inspect, and tasks of this repository in its format."""
