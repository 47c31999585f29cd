"""Write a span."""

from spans.units import UNITS


def show(span):
    """Return a span as text, with all units that are not zero; `0s` for none."""
    rest = span.days * UNITS["d"] + span.seconds * UNITS["s"] + span.microseconds // 1000
    parts = []
    for unit, size in UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"
