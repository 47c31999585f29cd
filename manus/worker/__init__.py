"""The queue of runs and the worker that executes them."""
