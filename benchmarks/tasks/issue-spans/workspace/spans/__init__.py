"""Spans of time as people write them."""

from spans.reading import parse
from spans.writing import show

__all__ = ["parse", "show"]
