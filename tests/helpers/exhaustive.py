"""Which tests run only with `--exhaustive`, as in CI."""

from __future__ import annotations

import pytest

from tests.helpers.sandboxes import default_kind


def is_exhaustive(item: pytest.Item) -> bool:
    """Return whether a test is marked `exhaustive`, or is not in its function's `sample`.

    Of a table's rows one of `every` is in it, the first among them; `landlock` and `none` name the
    rows that run in these sandboxes, unless it is the strongest one on the machine.
    """
    if item.get_closest_marker("exhaustive"):
        return True
    sample = item.get_closest_marker("sample")
    callspec = getattr(item, "callspec", None)
    if sample is None or callspec is None:
        return False
    kind = callspec.params.get("sandbox_kind")
    rows = sample.kwargs.get(kind)
    if rows is None or kind == default_kind():
        places = [place for name, place in callspec.indices.items() if name != "sandbox_kind"]
        return any(place % sample.kwargs.get("every", 1) for place in places)
    return not any(value in rows for value in callspec.params.values() if value != kind)
