from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from manus.tools.mcp.tools import LONGEST, tool_name


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=80)), max_size=20, unique=True))
def test_names_are_unique_and_fit_for_any_provider(pairs: list[tuple[str, str]]) -> None:
    taken: set[str] = set()
    for server, tool in pairs:
        name = tool_name(server, tool, lambda name: name.lower() in taken)
        assert name.lower() not in taken
        assert len(name) <= LONGEST
        assert re.fullmatch(r"mcp_[A-Za-z0-9_-]+", name)
        taken.add(name.lower())


def test_a_plain_name_is_kept_and_two_alike_are_told_apart() -> None:
    assert tool_name("a", "b_c", lambda _: False) == "mcp_a_b_c"
    other = tool_name("a_b", "c", lambda name: name == "mcp_a_b_c")
    assert other.startswith("mcp_a_b_c_")
    assert other == tool_name("a_b", "c", lambda name: name == "mcp_a_b_c")
