"""Intervals of whole numbers, as (first, last)."""


def merge(spans):
    """Join what overlaps or touches: [(1, 3), (3, 5)] is [(1, 5)]."""
    merged = []
    for first, last in spans:
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
