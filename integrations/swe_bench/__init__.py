"""Predictions for SWE-bench."""
