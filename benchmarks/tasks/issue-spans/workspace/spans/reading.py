"""Read a span."""

import re
from datetime import timedelta

from spans.units import UNITS

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|d|h|m|s)")


def parse(text):
    """Return the span that a text such as `1d 2h` or `1.5h` stands for.

    Raises:
        ValueError: the text is no span.
    """
    total = 0.0
    found = False
    for number, unit in _PART.findall(text):
        total += float(number) * UNITS[unit]
        found = True
    if not found:
        raise ValueError(f"no span of time: {text!r}")
    return timedelta(milliseconds=total)
