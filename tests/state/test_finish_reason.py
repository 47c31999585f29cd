"""The finish reason in the metadata of OpenAI's Responses API."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from manus.state.replies import ended_at_limit, get_finish_reason

LIMIT = {"reason": "max_output_tokens"}


@pytest.mark.parametrize(
    ("metadata", "reason", "is_at_limit"),
    [
        ({"status": "completed", "incomplete_details": None}, "stop", False),
        ({"status": "incomplete", "incomplete_details": LIMIT}, "max_output_tokens", True),
        ({"status": "in_progress"}, "", False),
    ],
)
def test_responses_protocol(metadata: dict[str, Any], reason: str, is_at_limit: bool) -> None:
    message = AIMessage("", response_metadata=metadata)
    assert (get_finish_reason(message), ended_at_limit(message)) == (reason, is_at_limit)
