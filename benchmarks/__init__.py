"""Benchmarks: ratios within one run, against a plain loop over the openai client."""
