"""A plugin for pytest that records the replies of a graph's models, and replays them."""
