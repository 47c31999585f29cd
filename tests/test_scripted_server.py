"""The scripted server, through the real client that the agent uses."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import httpx2
import openai
import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.server import (
    ABSENT,
    Fail,
    Message,
    Raw,
    Request,
    ScriptedServer,
    call,
    calls,
    cut,
    fail,
    hang,
    mentions,
    raw,
    text,
    tokens,
)
from tests.server.jsonl import reply
from tests.server.rules import refusal

pytest_plugins = ["pytester", "tests.server.fixtures"]

BASH = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}


@pytest.fixture
def loose() -> Iterator[ScriptedServer]:
    """A server that nothing verifies at the end, for what must go wrong."""
    with ScriptedServer() as server:
        yield server


def chat(server: ScriptedServer, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(
        **{
            "base_url": server.base_url,
            "api_key": SecretStr("x"),
            "model": "scripted",
            "use_responses_api": False,
            "stream_usage": True,
            "max_retries": 0,
            "timeout": 5,
            **options,
        }
    )


async def ask(server: ScriptedServer, stream: bool, words: str = "hi", **options: Any) -> AIMessage:
    """Ask with the tool bound, streamed or not; the answer in whole."""
    model = chat(server, **options).bind_tools([BASH])
    if not stream:
        return await model.ainvoke(words)
    chunks = [chunk async for chunk in model.astream(words)]
    whole: Any = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return cast(AIMessage, whole)


both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


class TestReplies:
    @both
    async def test_text(self, server: ScriptedServer, stream: bool) -> None:
        server.script(text("Grüße aus 東京, in several pieces"))
        reply = await ask(server, stream)
        assert reply.content == "Grüße aus 東京, in several pieces"
        assert reply.response_metadata["finish_reason"] == "stop"
        assert server.requests[0].stream is stream

    async def test_text_comes_in_several_pieces(self, server: ScriptedServer) -> None:
        server.script(text("one two three four five"))
        pieces = [chunk.content async for chunk in chat(server).astream("hi") if chunk.content]
        assert len(pieces) > 2

    @both
    async def test_one_call(self, server: ScriptedServer, stream: bool) -> None:
        server.script(call("bash", command="ls -la"))
        reply = await ask(server, stream)
        assert [(c["name"], c["args"]) for c in reply.tool_calls] == [
            ("bash", {"command": "ls -la"})
        ]
        assert reply.response_metadata["finish_reason"] == "tool_calls"

    @both
    async def test_two_calls_with_text(self, server: ScriptedServer, stream: bool) -> None:
        two = calls(call("bash", command="a"), call("bash", command="b"), text="thinking aloud")
        server.script(two)
        reply = await ask(server, stream)
        assert [c["args"]["command"] for c in reply.tool_calls] == ["a", "b"]
        assert reply.content == "thinking aloud"
        assert len({c["id"] for c in reply.tool_calls}) == 2

    @both
    @pytest.mark.parametrize("arguments", ['{"command": ', "not json"])
    async def test_malformed_arguments(
        self, server: ScriptedServer, stream: bool, arguments: str
    ) -> None:
        server.script(call("bash", raw=arguments))
        reply = await ask(server, stream)
        # A stream's `tool_calls` are guessed from what came: the pieces tell what was sent.
        if isinstance(reply, AIMessageChunk):
            assert [c["args"] for c in reply.tool_call_chunks] == [arguments]
        else:
            assert [c["args"] for c in reply.invalid_tool_calls] == [arguments]

    def test_arguments_that_cannot_be_keywords(self) -> None:
        made = call("bash", {"raw": 1, "id": 2}, name="x")
        assert json.loads(made.arguments) == {"raw": 1, "id": 2, "name": "x"}

    @both
    @pytest.mark.parametrize("id_", [None, "same", ABSENT], ids=str)
    async def test_ids_as_some_servers_send_them(
        self, server: ScriptedServer, stream: bool, id_: Any
    ) -> None:
        server.script(calls(call("bash", id=id_, command="a"), call("bash", id=id_, command="b")))
        message = (await _raw_reply(server, stream))["tool_calls"]
        assert [made.get("id", ABSENT) for made in message] == [id_, id_]

    async def test_ids_are_never_given_twice(
        self, new_server: Callable[[], ScriptedServer]
    ) -> None:
        replies = []
        for server in (new_server(), new_server()):
            server.script(call("bash", command="a"), call("bash", command="a"))
            replies += [await ask(server, False), await ask(server, True)]
        assert len({reply.tool_calls[0]["id"] for reply in replies}) == 4

    @both
    async def test_usage_by_default(self, server: ScriptedServer, stream: bool) -> None:
        server.script(text("x" * 400))
        usage = (await ask(server, stream)).usage_metadata
        assert usage is not None
        assert usage["output_tokens"] == 100
        assert usage["input_tokens"] == len(server.requests[0].raw) // 4

    @both
    async def test_usage_given(self, server: ScriptedServer, stream: bool) -> None:
        server.script(text("x", usage=tokens(100, 20, cached=60, reasoning=5)))
        usage = (await ask(server, stream)).usage_metadata
        assert usage is not None
        assert (usage["input_tokens"], usage["output_tokens"]) == (100, 20)
        assert usage.get("input_token_details", {}).get("cache_read") == 60
        assert usage.get("output_token_details", {}).get("reasoning") == 5

    @both
    async def test_usage_absent(self, server: ScriptedServer, stream: bool) -> None:
        server.script(text("x", usage=None))
        assert not (await ask(server, stream)).usage_metadata

    async def test_usage_is_streamed_only_when_asked_for(self, server: ScriptedServer) -> None:
        server.script(text("x"))
        chunks = [chunk async for chunk in chat(server, stream_usage=False).astream("hi")]
        assert not any(chunk.usage_metadata for chunk in chunks)

    @both
    async def test_finish_reason(self, server: ScriptedServer, stream: bool) -> None:
        server.script(text("half of", finish_reason="length"))
        assert (await ask(server, stream)).response_metadata["finish_reason"] == "length"

    @both
    async def test_reasoning(self, server: ScriptedServer, stream: bool) -> None:
        server.script(text("4", reasoning="two and two"))
        message = await _raw_reply(server, stream)
        assert (message["content"], message["reasoning_content"]) == ("4", "two and two")

    @both
    async def test_delay(self, server: ScriptedServer, stream: bool) -> None:
        server.script(text("late", delay=0.2))
        started = time.monotonic()
        await ask(server, stream)
        assert time.monotonic() - started >= 0.2

    async def test_reply_that_is_a_function(self, server: ScriptedServer) -> None:
        server.script(lambda request: text(request.last["content"].upper()))
        assert (await ask(server, False, "loud")).content == "LOUD"


class TestErrors:
    @both
    @pytest.mark.parametrize(
        ("reply", "error", "code"),
        [
            (fail(401), openai.AuthenticationError, "invalid_api_key"),
            (fail(404), openai.NotFoundError, "model_not_found"),
            (fail(429), openai.RateLimitError, "rate_limit_exceeded"),
            (fail(429, code="insufficient_quota"), openai.RateLimitError, "insufficient_quota"),
            (fail(500), openai.InternalServerError, None),
            (fail(503), openai.InternalServerError, None),
            (
                fail(400, code="context_length_exceeded"),
                openai.BadRequestError,
                "context_length_exceeded",
            ),
        ],
    )
    async def test_status(
        self,
        server: ScriptedServer,
        stream: bool,
        reply: Fail,
        error: type[openai.APIStatusError],
        code: str | None,
    ) -> None:
        server.script(reply)
        with pytest.raises(error) as caught:
            await ask(server, stream)
        assert caught.value.code == code
        assert reply.error["message"] in str(caught.value)

    async def test_retry_after_is_honoured(self, server: ScriptedServer) -> None:
        server.script(fail(429, retry_after=0.6), text("now"))
        assert (await ask(server, False, max_retries=1)).content == "now"
        waited = server.requests[1].at - server.requests[0].at
        assert waited >= 0.6  # the client's own first wait is half a second at most

    @both
    async def test_html_error_page(self, server: ScriptedServer, stream: bool) -> None:
        server.script(raw(b"<html>Bad gateway</html>", status=502))
        with pytest.raises(openai.InternalServerError) as caught:
            await ask(server, stream)
        assert caught.value.response.text == "<html>Bad gateway</html>"

    @both
    async def test_cut_before_the_first_byte(self, server: ScriptedServer, stream: bool) -> None:
        server.script(cut())
        with pytest.raises(openai.APIConnectionError):
            await ask(server, stream)

    async def test_cut_in_a_stream(self, server: ScriptedServer) -> None:
        server.script(cut(after_chunks=3, reply=text("one two three four five")), text("again"))
        pieces = []

        async def listen() -> None:
            async for chunk in chat(server).astream("hi"):
                pieces.append(str(chunk.content))

        with pytest.raises(openai.APIConnectionError):
            await listen()
        assert "".join(pieces) == "one two "
        assert (await ask(server, True)).content == "again"

    async def test_cut_never_lets_the_end_through(self, server: ScriptedServer) -> None:
        server.script(cut(after_chunks=1000))
        with pytest.raises(openai.APIConnectionError):
            await ask(server, True)

    async def test_cut_in_a_whole_reply(self, server: ScriptedServer) -> None:
        server.script(cut(after_chunks=1, reply=call("bash", command="ls")))
        with pytest.raises(openai.APIConnectionError):
            await ask(server, False)

    @both
    async def test_hang_until_the_client_gives_up(
        self, server: ScriptedServer, stream: bool
    ) -> None:
        server.script(hang())
        with pytest.raises(openai.APITimeoutError):
            await ask(server, stream, timeout=0.3)

    @both
    @pytest.mark.parametrize("after", [0, 1])
    async def test_hang_until_an_event(
        self, server: ScriptedServer, stream: bool, after: int
    ) -> None:
        event = asyncio.Event()
        server.script(hang(event, reply=text("at last"), after_chunks=after))
        asked = asyncio.create_task(ask(server, stream))
        await server.arrived(1)
        await asyncio.sleep(0.05)
        assert not asked.done()
        event.set()
        assert (await asked).content == "at last"

    async def test_hang_for_seconds_then_break_off(self, server: ScriptedServer) -> None:
        server.script(hang(0.1))
        with pytest.raises(openai.APIConnectionError):
            await ask(server, False)

    async def test_close_releases_what_hangs_and_refuses_more(self, loose: ScriptedServer) -> None:
        loose.script(hang(), text("never"))
        asked = asyncio.create_task(ask(loose, False))
        await loose.arrived(1)
        loose.close()
        for attempt in (asked, ask(loose, False)):
            with pytest.raises(openai.APIConnectionError):
                await attempt
        assert len(loose.requests) == 1


class TestScript:
    async def test_request_is_recorded(self, server: ScriptedServer) -> None:
        server.script(call("bash", command="ls"), text("done"))
        model = chat(server).bind_tools([BASH], tool_choice="required")
        history: list[BaseMessage] = [HumanMessage("look")]
        history += [(reply := await model.ainvoke(history))]
        history += [ToolMessage("a.txt", tool_call_id=reply.tool_calls[0]["id"])]
        await model.ainvoke(history)
        first, second = server.requests
        assert (first.model, first.stream, first.tool_choice) == ("scripted", False, "required")
        assert first.tool_names == ["bash"]
        assert [m["role"] for m in second.messages] == ["user", "assistant", "tool"]
        assert list(second.tool_results.values()) == ["a.txt"]
        assert second.headers["authorization"] == "Bearer x"
        assert json.loads(second.raw) == second.body
        assert first.at < second.at

    async def test_queue_by_conversation(self, server: ScriptedServer) -> None:
        server.script(text("other"))
        server.when(mentions("cats"), text("cat 1"), text("cat 2"))
        server.when(mentions("dogs")).always(text("dog"))
        words = ["cats", "dogs", "birds", "cats", "dogs"]
        said = [(await ask(server, False, one)).content for one in words]
        assert said == ["cat 1", "dog", "other", "cat 2", "dog"]

    async def test_always_comes_after_the_script(self, server: ScriptedServer) -> None:
        server.script(text("first")).always(lambda _: text(f"{len(server.requests)}"))
        said = [(await ask(server, False)).content for _ in range(3)]
        assert said == ["first", "2", "3"]

    async def test_many_at_once(self, server: ScriptedServer) -> None:
        server.always(lambda request: text(request.last["content"]))
        words = [f"run {number}" for number in range(50)]
        said = await asyncio.gather(*(ask(server, True, one) for one in words))
        assert [one.content for one in said] == words

    async def test_nothing_left(self, loose: ScriptedServer) -> None:
        with pytest.raises(openai.InternalServerError, match="Nothing is left in the script"):
            await ask(loose, True, max_retries=2)
        assert len(loose.unexpected) == len(loose.requests) == 1
        with pytest.raises(AssertionError, match=r"unexpected: .*'hi'"):
            loose.verify()

    async def test_replies_left(self, loose: ScriptedServer) -> None:
        loose.script(text("unused"))
        with pytest.raises(AssertionError, match=r"left unused: .*unused"):
            loose.verify()
        loose.allow_unused().verify()

    async def test_function_that_raises(self, loose: ScriptedServer) -> None:
        def check(request: Request) -> Message:
            assert request.tool_names == ["browser"]
            return text("fine")

        loose.script(check)
        with pytest.raises(openai.InternalServerError):
            await ask(loose, False)
        with pytest.raises(AssertionError, match="the script raised AssertionError"):
            loose.verify()

    def test_wait_for_gives_up(self, server: ScriptedServer) -> None:
        with pytest.raises(TimeoutError, match="0 requests came"):
            server.wait_for(1, timeout=0.01)

    def test_models(self, server: ScriptedServer) -> None:
        server.models = ["small", "large"]
        client = openai.OpenAI(base_url=server.base_url, api_key="x")
        assert [model.id for model in client.models.list()] == ["small", "large"]
        assert client.models.retrieve("large").id == "large"

    async def test_other_paths_are_violations(self, loose: ScriptedServer) -> None:
        with pytest.raises(openai.NotFoundError):
            await chat(loose, use_responses_api=True).ainvoke("hi")
        with pytest.raises(AssertionError, match="There is no POST /v1/responses"):
            loose.verify()

    def test_fixture_fails_the_test_at_its_end(self, pytester: pytest.Pytester) -> None:
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
        pytester.makepyfile(
            """
            from tests.server import text

            def test_leaves_replies(server):
                server.script(text("unused"))

            def test_goes_by_the_script(server, new_server):
                assert server.base_url != new_server().base_url
            """
        )
        result = pytester.runpytest_inprocess("-p", "tests.server.fixtures")
        result.assert_outcomes(passed=2, errors=1)
        result.stdout.fnmatch_lines(["*left unused: Message(content='unused'*"])


def user(content: Any = "hi") -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(*ids: Any, arguments: Any = "{}", **fields: Any) -> dict[str, Any]:
    function = {"name": "bash", "arguments": arguments}
    made = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, **fields}


def tool(id_: str, content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def image(url: str = "data:image/png;base64,iVBORw0KGgo=") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def refused(*messages: Any, **fields: Any) -> str | None:
    body = {"model": "m", "messages": list(messages) or [user()], **fields}
    return refusal(Request(json.dumps(body).encode()))


def array_tool(items: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"list": {"type": "array", **items}}}
    return {"type": "function", "function": {"name": "x", "parameters": schema}}


class TestRules:
    @pytest.mark.parametrize(
        "messages",
        [
            [{"role": "system", "content": "be brief"}, user()],
            [{"role": "developer", "content": [{"type": "text", "text": "be brief"}]}, user()],
            [user([{"type": "text", "text": "see"}, image(), image("https://x.org/a.png")])],
            [user(), {"role": "assistant", "content": ""}, user()],
            [user(), assistant("a", "b"), tool("b"), tool("a", ""), user()],
            [user(), assistant("a", content="aloud"), tool("a"), assistant("a"), tool("a")],
            [user(), assistant("a"), tool("a", [{"type": "text", "text": "ok"}])],
        ],
    )
    def test_accepted(self, messages: list[Any]) -> None:
        assert refused(*messages) is None

    @pytest.mark.parametrize(
        ("messages", "reason"),
        [
            ([user(), assistant("a")], "did not have response messages: a"),
            ([user(), assistant("a", "b"), tool("a")], "response messages: b"),
            ([user(), assistant("a"), user(), tool("a")], "response messages: a"),
            ([user(), assistant("a"), assistant("b"), tool("b")], "response messages: a"),
            ([user(), tool("a")], "must be a response to a preceding"),
            ([user(), assistant("a"), tool("a"), user(), tool("a")], "must be a response"),
            ([user(), assistant("a"), tool("a"), tool("a")], "second tool message"),
            ([user(), assistant("a"), tool("a"), tool("b")], "answers 'b'"),
            ([user(), assistant("a", "a"), tool("a")], "Duplicate id"),
            ([user(), assistant(None), tool("a")], ".id': expected a string"),
            ([user(), assistant(""), tool("")], ".id': expected a string"),
            ([user(), assistant("a" * 41)], "maximum length of 40"),
            ([user(), assistant("a", arguments='{"command": '), tool("a")], "not a JSON string"),
            ([user(), assistant("a", arguments=""), tool("a")], "not a JSON string"),
            ([user(), assistant("a", arguments='{"x": NaN}'), tool("a")], "not a JSON string"),
            ([user(), assistant("a", arguments={"x": 1}), tool("a")], "not a JSON string"),
            ([user(), assistant(content="hm")], "minimum length 1"),
            ([user(), assistant(content="hm", tool_calls=None)], "minimum length 1"),
            ([user() | {"tool_calls": []}], "only assistant messages carry tool calls"),
            ([user(), {"role": "tool", "content": "ok"}], "tool_call_id"),
            ([user(), assistant("a"), tool("a", [image()])], "'image_url' is not allowed"),
            ([user(), assistant("a"), tool("a", None)], "got null"),
            ([user(None)], "got null"),
            ([user(), {"role": "assistant", "content": None}], "got null"),
            ([{"role": "system"}, user()], "got null"),
            ([{"role": "system", "content": [image()]}, user()], "not allowed for role 'system'"),
            ([user([])], "empty array"),
            ([user(7)], "expected a string or an array"),
            ([user([{"type": "text"}])], "text"),
            ([user([image("screenshot.png")])], "image_url"),
            ([user([image("data:image/png;base64,iVBO… cut …")])], "image_url"),
            ([{"role": "human", "content": "hi"}], "'human'"),
            (["hi"], "messages[0].role"),
        ],
    )
    def test_refused_conversation(self, messages: list[Any], reason: str) -> None:
        assert reason in str(refused(*messages))

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"messages": []}, "messages"),
            ({"messages": None}, "messages"),
            ({"model": ""}, "must provide a model"),
            ({"temperature": "warm"}, "temperature"),
            ({"thread_id": "7"}, "Unrecognized request argument supplied: thread_id"),
            ({"stream_options": {"include_usage": True}}, "only allowed when 'stream'"),
            ({"tool_choice": "auto"}, "only allowed when 'tools'"),
            ({"parallel_tool_calls": False}, "only allowed when 'tools'"),
            ({"tools": []}, "empty array"),
            ({"tools": [BASH, BASH]}, "must be unique"),
            ({"tools": ["bash"]}, "tools[0]"),
            ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "'a b'"),
            ({"tools": [BASH], "tool_choice": "any"}, "Tool choice"),
            ({"tools": [array_tool({})]}, "array schema missing items"),
        ],
    )
    def test_refused_field(self, fields: dict[str, Any], reason: str) -> None:
        assert reason in str(refused(**fields))

    def test_accepted_fields(self) -> None:
        choice = {"type": "function", "function": {"name": "bash"}}
        tools = [BASH, array_tool({"items": {"type": "string"}})]
        fields = {"stream": True, "stream_options": {"include_usage": True}, "temperature": 0}
        assert refused(tools=tools, tool_choice=choice, **fields) is None

    @pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"model": NaN}'])
    def test_refused_body(self, body: bytes) -> None:
        assert refusal(Request(body)) == "We could not parse the JSON body of your request."

    async def test_violation_is_answered_and_recorded(self, loose: ScriptedServer) -> None:
        loose.script(text("kept"))
        with pytest.raises(openai.BadRequestError, match="must be a response to a preceding"):
            await chat(loose).ainvoke([HumanMessage("hi"), ToolMessage("x", tool_call_id="a")])
        assert loose.violations[0].request is loose.requests[0]
        with pytest.raises(AssertionError, match="refused by the real API"):
            loose.allow_unused().verify()

    @pytest.mark.parametrize("messages", [7, ["hi"], [user(7)], [{}]])
    async def test_violation_of_any_form_is_told(
        self, loose: ScriptedServer, messages: Any
    ) -> None:
        async with httpx2.AsyncClient() as client:
            body = {"model": "m", "messages": messages}
            response = await client.post(f"{loose.base_url}/chat/completions", json=body)
        assert (response.status_code, loose.errors) == (400, [])
        with pytest.raises(AssertionError, match="refused by the real API"):
            loose.verify()

    async def test_rules_can_be_left_out(self, server: ScriptedServer) -> None:
        server.strict = False
        server.script(text("whatever"))
        history = [HumanMessage("hi"), ToolMessage("x", tool_call_id="a")]
        assert (await chat(server).ainvoke(history)).content == "whatever"


class TestProcess:
    def test_serves_a_file(self, tmp_path: Path) -> None:
        log = tmp_path / "log.jsonl"
        with _process(tmp_path, SCRIPT, "--log", str(log)) as process:
            client = _client(process)
            replies = [_ask(client, words) for words in ("hi", "cats", "hi", "hi")]
            code, complaint = _stop(process)
        assert [reply.content for reply in replies] == ["aloud", "meow", "done", "for ever"]
        made = replies[0].tool_calls
        assert [c.function.arguments for c in made] == ['{"command": "ls"}', "{"]
        assert (code, complaint) == (0, "")
        said = [
            json.loads(line)["messages"][0]["content"] for line in log.read_text().split("\n")[:-1]
        ]
        assert said == ["hi", "cats", "hi", "hi"]

    def test_complains_of_what_is_left(self, tmp_path: Path) -> None:
        with _process(tmp_path, ['{"text": "unused"}']) as process:
            _client(process)
            code, complaint = _stop(process)
        assert code == 1
        assert "left unused" in complaint

    @pytest.mark.parametrize("line", ['{"txt": "x"}', '{"text": "x", "dely": 1}', "{", "[]"])
    def test_refuses_a_line(self, tmp_path: Path, line: str) -> None:
        with _process(tmp_path, ['{"text": "fine"}', line]) as process:
            _, complaint = process.communicate(timeout=60)
        assert process.returncode == 2
        assert "script.jsonl, line 2" in complaint

    def test_every_kind_of_line(self) -> None:
        assert reply({"call": "bash", "arguments": {"a": 1}}) == call("bash", a=1)
        assert reply({"call": "bash", "raw": "{", "id": None}) == call("bash", raw="{", id=None)
        assert reply({"fail": 429, "retry_after": 1}) == fail(429, retry_after=1)
        assert reply({"cut": 2, "reply": {"call": "x"}}) == cut(2, reply=call("x"))
        assert reply({"hang": None}) == hang()
        assert reply({"hang": 3, "reply": {"text": "x"}}) == hang(3, reply=text("x"))
        assert reply({"raw": "<html>", "status": 502}) == Raw(
            b"<html>", 502, "text/html; charset=utf-8"
        )


SCRIPT = [
    '{"calls": [{"call": "bash", "arguments": {"command": "ls"}}, {"call": "bash", "raw": "{"}],'
    ' "text": "aloud"}',
    "",
    '{"text": "meow", "when": "cats"}',
    '{"text": "done", "usage": null}',
    '{"text": "for ever", "always": true}',
]


def _process(folder: Path, lines: list[str], *options: str) -> "subprocess.Popen[str]":
    script = folder / "script.jsonl"
    script.write_text("\n".join(lines))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.server", "--script", str(script), *options],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _client(process: "subprocess.Popen[str]") -> openai.OpenAI:
    assert process.stdout is not None
    return openai.OpenAI(base_url=process.stdout.readline().strip(), api_key="x", max_retries=0)


def _ask(client: openai.OpenAI, words: str) -> Any:
    reply = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": words}]
    )
    return reply.choices[0].message


def _stop(process: "subprocess.Popen[str]") -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    _, complaint = process.communicate(timeout=60)
    return process.returncode, complaint


async def _raw_reply(server: ScriptedServer, stream: bool) -> dict[str, Any]:
    """The assistant message on the wire, put together from its pieces by the field."""
    body = {"model": "m", "messages": [user()], "stream": stream}
    async with httpx2.AsyncClient() as client:
        response = await client.post(f"{server.base_url}/chat/completions", json=body)
    if not stream:
        message: dict[str, Any] = response.json()["choices"][0]["message"]
        return message
    events = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert events.pop() == "[DONE]"
    deltas = [json.loads(event)["choices"][0]["delta"] for event in events]
    whole = {
        field: "".join(delta.get(field) or "" for delta in deltas)
        for field in ("content", "reasoning_content")
    }
    opened = [made for delta in deltas for made in delta.get("tool_calls", []) if "type" in made]
    return {**whole, "tool_calls": opened}
