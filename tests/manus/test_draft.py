"""The line of what a model is writing just now."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from manus.draft import Draft, draft_line

SEALED = "gAAAAB" * 20_000


@pytest.mark.parametrize(
    "piece",
    [
        {"content": "", "additional_kwargs": {"reasoning_content": "I look."}},
        {"content": [{"type": "thinking", "thinking": "I look.", "index": 0}]},
        {"content": [{"type": "reasoning", "reasoning": "I look.", "extras": {"signature": "x"}}]},
        {"content": [{"type": "reasoning_content", "reasoning_content": {"text": "I look."}}]},
    ],
    ids=["compatible servers", "Anthropic, Google", "LangChain's common form", "Bedrock"],
)
def test_what_a_model_thinks_is_shown(piece: dict[str, Any]) -> None:
    shown = Draft().feed(AIMessageChunk(**piece), with_text=False)
    assert shown is not None
    assert draft_line(*shown, 60, 8).split() == ["thinks", "I", "look."]


@pytest.mark.parametrize(
    "piece",
    [
        {"content": "", "additional_kwargs": {"reasoning_details": [{"data": SEALED}]}},
        {"content": "", "additional_kwargs": {"sealed_calls": [{"extra_content": SEALED}]}},
        {"content": "", "additional_kwargs": {"reasoning_content": {"odd": SEALED}}},
        {"content": [{"type": "redacted_thinking", "data": SEALED}]},
        {"content": [{"type": "thinking", "signature": SEALED}]},
        {"content": [{"type": "reasoning_content", "reasoning_content": {"signature": SEALED}}]},
        {"content": [{"type": "thinking", "thinking": None}, "text"]},
    ],
)
def test_what_is_sealed_is_not(piece: dict[str, Any]) -> None:
    assert Draft().feed(AIMessageChunk(**piece), with_text=False) is None


def test_a_thought_grows_from_piece_to_piece() -> None:
    draft = Draft()
    for word in ("I ", "look ", "at it."):
        block = {"type": "thinking", "thinking": word, "index": 0}
        shown = draft.feed(AIMessageChunk(content=[block], id="one"), with_text=False)
    assert shown is not None
    assert shown[2] == "I look at it."
