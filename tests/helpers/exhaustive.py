"""Which tests run only with `--exhaustive`, as in CI."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from tests.helpers.sandboxes import default_kind


def sample(rows: Iterable[Any], every: int) -> list[Any]:
    """Return the rows of a table as parameters, most of them marked `exhaustive`.

    One of `every` rows runs always, the first among them.
    """
    parameters = []
    for number, row in enumerate(rows):
        if number % every == 0 or isinstance(row, ParameterSet):  # which has marks of its own
            parameters.append(row)
        else:
            parameters.append(pytest.param(row, marks=pytest.mark.exhaustive))
    return parameters


def is_exhaustive(item: pytest.Item) -> bool:
    """Return whether a test is marked `exhaustive`, or is not in the `sample` of its sandbox.

    A sample never reduces the tests of the strongest sandbox on the machine.
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
        return False
    return not any(value in rows for value in callspec.params.values() if value != kind)
