"""The size of requests: every sentence and schema must fit into the budget of its profile."""

import pytest

from benchmarks.request_size import estimate, first_request
from manus.graph.profiles import PROFILES

LIMITS = {"manus": 2_400, "browser": 1_750, "swe": 1_600, "data_analysis": 2_350, "planner": 3_000}
"""Estimated tokens of the first request, about 250 of which describe the machine."""


@pytest.mark.parametrize("profile", PROFILES)
async def test_the_first_request_stays_small(profile: str) -> None:
    size = await first_request(profile)
    total = size.count(estimate)
    parts = f"system {estimate(size.system):,}, schemas {estimate(size.schemas):,}"
    assert total <= LIMITS[profile], f"{total:,} tokens ({parts}): shorten a text or a schema"
