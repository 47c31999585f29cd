"""Texts for the model, and the pure functions that fill them in."""
