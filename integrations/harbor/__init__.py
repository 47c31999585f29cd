"""The agent in Harbor's benchmarks."""
