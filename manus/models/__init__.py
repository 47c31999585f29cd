"""Asks a model; knows no run, no tool, no graph."""
