"""Where a provider keeps a request's beginning only if told to, it is told."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from manus.models.endpoint_call import with_cache_marks
from manus.models.providers import EXTRAS
from manus.state.messages import ephemeral

REQUEST: list[BaseMessage] = [
    SystemMessage("You work."),
    HumanMessage("Do it."),
    AIMessage("Done."),
    ephemeral("What next?"),
]


def marked(request: list[BaseMessage]) -> list[bool]:
    return [isinstance(m.content, list) and "cache_control" in str(m.content) for m in request]


@pytest.mark.parametrize("content", ["", " \n", [], [{"type": "thinking", "thinking": "Well"}]])
def test_where_a_message_cannot_be_marked_the_one_before_is(content: Any) -> None:
    call = {"id": "1", "name": "bash", "args": {}}
    request = [*REQUEST[:2], AIMessage(content, tool_calls=[call]), REQUEST[3]]
    assert marked(with_cache_marks(request, EXTRAS["anthropic"])) == [True, True, False, False]
    assert with_cache_marks([], EXTRAS["anthropic"]) == []
