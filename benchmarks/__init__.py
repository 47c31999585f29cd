"""Benchmarks: ratios within one run, against a plain loop over the OpenAI client."""
