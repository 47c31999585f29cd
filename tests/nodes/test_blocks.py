"""Replies whose content is blocks: in the history and on the wire."""

from typing import Any

from langchain_core.messages import AIMessage

from manus.models.blocks import as_text
from manus.models.wire_forms import wire_form

CALL: Any = {"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "ls"}}
TEXT = {"type": "text", "text": "I look.", "index": 0}
THOUGHT = {"type": "reasoning", "reasoning": "They want a list."}


def reply(*blocks: Any) -> AIMessage:
    return AIMessage(
        content=list(blocks),
        tool_calls=[CALL] if CALL in blocks else [],
        response_metadata={"output_version": "v1", "model_name": "m"},
    )


def test_text_and_calls_become_text() -> None:
    plain = as_text(reply(TEXT, {"type": "text", "text": " Closely."}, CALL))
    assert plain.content == "I look. Closely."
    assert plain.tool_calls == [CALL]
    assert plain.response_metadata == {"model_name": "m"}


def test_a_call_alone_leaves_no_content() -> None:
    assert as_text(reply(CALL)).content == ""


def test_what_is_more_than_text_is_kept() -> None:
    assert as_text(reply(THOUGHT, TEXT)) == reply(THOUGHT, TEXT)


def test_blocks_of_a_provider_of_its_own_are_kept() -> None:
    own = AIMessage(content=[{"type": "text", "text": "I look.", "citations": []}])
    assert as_text(own.model_copy()) == own


def test_on_the_wire_stands_what_the_protocol_knows() -> None:
    form = wire_form(reply(THOUGHT, TEXT, CALL))
    assert form["content"] == [{"type": "text", "text": "I look."}]
    assert [call["id"] for call in form["tool_calls"]] == ["c1"]
