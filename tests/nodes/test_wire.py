"""The wire form of messages: what LangChain's own client sends, where that is right."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from manus.models.openai_chat import FastChatOpenAI
from manus.models.tool_calls import arguments_of, with_calls
from manus.models.wire_forms import IMAGE_FOLLOWS, Back, encode, wire_form
from manus.state.messages import MALFORMED_AT
from manus.tools.terminate import TerminateArgs
from tests.helpers.agent import ScriptedAgent
from tests.helpers.tools import RED_DOT
from tests.server import ScriptedServer, call, calls, text

CALL = {"name": "read", "args": {"path": "ä", "n": [1, None]}, "id": "c1", "type": "tool_call"}
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{RED_DOT}"}}
ORDINARY: list[AnyMessage] = [
    SystemMessage("You are."),
    HumanMessage("Do “it” – ünï 😀\n\t."),
    HumanMessage([{"type": "text", "text": "And this?"}, PICTURE]),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("text", tool_call_id="c1", name="read"),
    AIMessage("Let me see.", tool_calls=[{**CALL, "id": "c2"}, {**CALL, "id": "c3"}]),
    ToolMessage("", tool_call_id="c2", name="read", status="error"),
    ToolMessage("three", tool_call_id="c3"),
    AIMessage("Done.", additional_kwargs={"refusal": None}),
    HumanMessage("Go on.", name="bob"),
]
TOOLS = [convert_to_openai_tool(TerminateArgs)]


def client(cls: type[ChatOpenAI], server: ScriptedServer, **options: Any) -> ChatOpenAI:
    return cls(
        base_url=server.base_url,
        api_key=SecretStr("x"),
        model="scripted",  # type: ignore[call-arg]
        use_responses_api=False,
        stream_usage=True,
        max_retries=0,
        **options,
    )


OPTIONS: list[dict[str, Any]] = [
    *({}, {"tools": TOOLS}, {"tools": TOOLS, "tool_choice": "required"}, {"stop": ["END"]})
]


async def test_ordinary_messages_are_sent_as_langchain_sends_them(server: ScriptedServer) -> None:
    for options in OPTIONS:
        server.script(text("Hello."), text("Hello."))
        async for _ in client(ChatOpenAI, server).astream(ORDINARY, **options):
            pass
        await client(FastChatOpenAI, server).ainvoke(ORDINARY, **options)
        theirs, ours = server.requests[-2:]
        assert ours.body == theirs.body
        same = ("authorization", "content-type", "accept")
        assert [ours.headers[name] for name in same] == [theirs.headers[name] for name in same]
    # the reply is the one that LangChain reads
    server.script(*[calls(call("read", path="a", id="c1"), call("poll", id="c2"), text="Two.")] * 2)
    his, own = [await client(c, server).ainvoke("Hi.") for c in (ChatOpenAI, FastChatOpenAI)]
    assert own.text == his.text == "Two."
    assert own.tool_calls == his.tool_calls
    said = [m.usage_metadata["output_tokens"] for m in (own, his) if m.usage_metadata]
    assert said == [6, 6]
    assert own.response_metadata["finish_reason"] == "tool_calls"


MALFORMED = {
    "[1]": "not an object",
    "{": "not valid JSON",
    '{"a": NaN}': "NaN",
    "[" * 100_000: "nested",
}


def test_arguments_that_cannot_be_read_are_wrapped_and_their_place_kept() -> None:
    bad = {"name": "read", "args": '{"path": "a', "id": "c0", "error": None}
    message = AIMessage(
        "",
        tool_calls=[CALL],
        invalid_tool_calls=[{**bad, "type": "invalid_tool_call"}],
        additional_kwargs={MALFORMED_AT: [0]},
    )
    first, second = wire_form(message, Back())["tool_calls"]
    assert (first["id"], second["id"]) == ("c0", "c1")
    assert json.loads(first["function"]["arguments"]) == {"malformed_arguments": '{"path": "a'}
    assert json.loads(second["function"]["arguments"]) == CALL["args"]
    for arguments, words in MALFORMED.items():
        with pytest.raises(ValueError, match=words):
            arguments_of(arguments)
        message = with_calls(AIMessage(""), [{"id": "1", "name": "a", "args": arguments}])
        assert message.tool_calls == []
        assert [c["args"] for c in message.invalid_tool_calls] == [arguments]


async def test_pictures_follow_the_batch_of_tool_messages(agent: ScriptedAgent) -> None:
    shown = calls(call("picture"), call("poll"), call("picture"))
    await agent.run(shown, call("poll"), text("Red."))
    last = agent.server.requests[-1].messages
    roles = [m["role"] for m in last]
    assert roles == ["system", "user", "assistant", *["tool"] * 3, "user", *roles[7:]]
    assert roles[7:] == ["assistant", "tool", "user"]
    assert [IMAGE_FOLLOWS in m["content"] for m in last[3:6]] == [True, False, True]
    assert last[6]["content"] == [PICTURE] * 2


@given(st.text())
def test_any_text_is_encoded(said: str) -> None:
    assert json.loads(encode({"content": said})) == {"content": said}
