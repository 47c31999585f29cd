"""The wire format of messages, compared with LangChain's own client, and broken connections."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from manus.config.model_settings import ModelSettings
from manus.models.chat_models import build_model
from manus.models.openai_chat import FastChatOpenAI
from manus.models.tool_calls import parse_arguments, with_calls, with_repairs
from manus.models.wire_forms import WireRules, encode, wire_form
from manus.prompts.tools import IMAGE_FOLLOWS
from manus.state.messages import MALFORMED_AT, list_calls
from manus.state.replies import is_cut_off
from manus.tools.terminate import TerminateArgs
from tests.helpers.agent import ScriptedAgent
from tests.helpers.tools import RED_DOT
from tests.server import ScriptedServer, build_chunk, call, calls, raw, reply_stream, text

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


async def test_ordinary_messages_are_sent_as_langchain_sends_them(
    server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    for options in OPTIONS:
        with subtests.test(options=options):
            server.script(text("Hello."), text("Hello."))
            async for _ in client(ChatOpenAI, server).astream(ORDINARY, **options):
                pass
            await client(FastChatOpenAI, server).ainvoke(ORDINARY, **options)
            theirs, ours = server.requests[-2:]
            assert ours.body == theirs.body
            same = ("authorization", "content-type", "accept")
            assert [ours.headers[name] for name in same] == [theirs.headers[name] for name in same]
    # the reply as LangChain parses it
    server.script(*[calls(call("read", path="a", id="c1"), call("poll", id="c2"), text="Two.")] * 2)
    his, own = [await client(c, server).ainvoke("Hi.") for c in (ChatOpenAI, FastChatOpenAI)]
    assert own.text == his.text == "Two."
    assert own.tool_calls == his.tool_calls
    output_tokens = [m.usage_metadata["output_tokens"] for m in (own, his) if m.usage_metadata]
    assert output_tokens == [6, 6]
    assert own.response_metadata["finish_reason"] == "tool_calls"


MALFORMED = {
    "[1]": "not an object",
    "{": "not valid JSON",
    '{"a": NaN}': "NaN",
    "[" * 100_000: "nested",
}


def test_unreadable_arguments_are_wrapped_in_place(
    subtests: pytest.Subtests,
) -> None:
    bad = {"name": "read", "args": '{"path": "a', "id": "c0", "error": None}
    message = AIMessage(
        "",
        tool_calls=[CALL],
        invalid_tool_calls=[{**bad, "type": "invalid_tool_call"}],
        additional_kwargs={MALFORMED_AT: [0]},
    )
    first, second = wire_form(message, WireRules())["tool_calls"]
    assert (first["id"], second["id"]) == ("c0", "c1")
    assert json.loads(first["function"]["arguments"]) == {"malformed_arguments": '{"path": "a'}
    assert json.loads(second["function"]["arguments"]) == CALL["args"]
    for arguments, words in MALFORMED.items():
        with subtests.test(arguments=arguments, words=words):
            with pytest.raises(ValueError, match=words):
                parse_arguments(arguments)
            message = with_calls(AIMessage(""), [{"id": "1", "name": "a", "args": arguments}])
            assert message.tool_calls == []
            assert [c["args"] for c in message.invalid_tool_calls] == [arguments]


async def test_images_follow_the_batch_of_tool_messages(agent: ScriptedAgent) -> None:
    reply = calls(call("picture"), call("poll"), call("picture"))
    await agent.run(reply, call("poll"), text("Red."))
    last = agent.server.requests[-1].messages
    roles = [m["role"] for m in last]
    assert roles == ["system", "user", "assistant", *["tool"] * 3, "user", *roles[7:]]
    assert roles[7:] == ["assistant", "tool", "user"]
    assert [IMAGE_FOLLOWS in m["content"] for m in last[3:6]] == [True, False, True]
    assert last[6]["content"] == [PICTURE] * 2


@given(st.text())
def test_any_text_is_encoded(text: str) -> None:
    assert json.loads(encode({"content": text})) == {"content": text}


WORDS = "Grüße, 世界\u2028😀\x85."
LINE = "ein Gruß 世"
SSE = "text/event-stream"
ARGUMENTS = json.dumps({"path": "a", "line": LINE}, ensure_ascii=False)


def piece(**function: str) -> dict[str, Any]:
    return build_chunk({"tool_calls": [{"index": 0, "function": function}]})


TALK = reply_stream(
    build_chunk({"content": WORDS[:5]}),
    build_chunk({"content": WORDS[5:]}),
    build_chunk({}, "stop"),
).body
CALLING = reply_stream(
    piece(name="append", arguments=ARGUMENTS[:9]),
    piece(arguments=ARGUMENTS[9:]),
    build_chunk({}, "tool_calls"),
).body


async def receive(model: Any) -> AIMessage | None:
    """Return the reply, with its calls as in a run; None if it failed."""
    try:
        message: AIMessage = await model.ainvoke([HumanMessage("Hi.")])
    except Exception:  # noqa: BLE001 - however it fails
        return None
    return with_repairs(message)


@pytest.mark.parametrize("body", [TALK, CALLING], ids=["text", "a call"])
async def test_a_stream_truncated_anywhere(
    server: ScriptedServer, body: bytes, subtests: pytest.Subtests
) -> None:
    """In a character, in an event, between two: a part is never taken for the whole."""
    cuts = range(0, len(body), 9)
    server.script(*(raw(body[:cut], content_type=SSE) for cut in cuts))
    model = await build_model(ModelSettings(model="m", base_url=server.base_url), Path())
    whole_ones = 0
    for cut in cuts:
        with subtests.test(cut=cut):
            reply = await receive(model)
            if reply is None or is_cut_off(reply):
                continue
            whole_ones += 1
            if body is TALK:
                assert reply.text == WORDS, body[:cut]
            else:
                assert [call["args"] for call in list_calls(reply)] == [{"path": "a", "line": LINE}]
    assert 0 < whole_ones < 25, "those truncated after the finish reason"


@pytest.mark.parametrize("patience", [3_600.0, 0.2])
async def test_comments_that_keep_a_connection_open_are_signs_of_life(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """A thought longer than the limit of silence is not paid for twice; there is another limit."""
    monkeypatch.setenv("MANUS_TIMEOUT", "0.2")
    monkeypatch.setenv("MANUS_RETRY_FOR", "0")
    monkeypatch.setattr("manus.models.chat_models.LONGEST_THOUGHT", patience)
    alive = [": OPENROUTER PROCESSING\n\n"] * 12
    reply = [build_chunk({"content": "Hello."}), build_chunk({}, "stop")]
    outcome = await agent.run(reply_stream(*alive, *reply, pace=0.05))
    assert outcome.stop_reason == ("answered" if patience > 1 else "interrupted")
    assert len(agent.server.requests) == 1


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Return a certificate authority that no machine trusts by default."""
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[ScriptedServer]:
    """Provide a server with a certificate from that authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with ScriptedServer(tls=context) as server:
        yield server
    server.verify()


async def test_a_certificate_that_is_trusted(
    agent: ScriptedAgent,
    secure: ScriptedServer,
    authority: trustme.CA,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    behind = ScriptedAgent(secure, agent.workspace, agent.saver)
    assert (await behind.run(text("Safe."))).output == "Safe."


async def test_a_certificate_that_is_not_trusted(
    agent: ScriptedAgent, secure: ScriptedServer
) -> None:
    outcome = await ScriptedAgent(secure, agent.workspace, agent.saver).run()
    assert outcome.stop_reason == "error"
    assert "unable to get local issuer" in outcome.output
    assert "SSL_CERT_FILE" in outcome.output
    assert not secure.requests


@pytest.mark.environ(SSL_CERT_FILE="/nowhere.pem")
async def test_invalid_client_settings_are_reported_at_once(agent: ScriptedAgent) -> None:
    events = await agent.events()
    assert not [event for event in events if event["type"] == "retry"]
    outcome = await agent.outcome()
    assert outcome.stop_reason == "error"
    assert "check SSL_CERT_FILE, SSL_CERT_DIR and the proxy variables" in outcome.output
