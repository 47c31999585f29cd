"""The solvers of the pages, by kind."""

from benchmarks.miniwob.solvers import (
    clicks,
    controls,
    dates,
    drags,
    fields,
    lists,
    mail,
    pictures,
    shapes,
)
from benchmarks.miniwob.solvers.registry import SOLVERS

__all__ = [
    "SOLVERS",
    "clicks",
    "controls",
    "dates",
    "drags",
    "fields",
    "lists",
    "mail",
    "pictures",
    "shapes",
]
