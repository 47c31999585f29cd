"""Chat models passed by the caller: custom ones, wrapped ones, and providers by name."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic import Field

from manus import build_agent
from manus.config.model_settings import ModelSettings, split_spec
from manus.config.provider_table import ALIASES, PROVIDERS
from manus.models.chat_models import build_model
from manus.state.errors import SettingsError
from tests.server import ScriptedServer, call, fail, text
from tests.server.products import vllm

CALL = {"name": "weather", "args": {"city": "Graz, 世界"}, "id": "c1", "type": "tool_call"}
CONTEXT = {"workspace": "w"}
REQUEST = {"request": "How is the weather?"}


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"sunny in {city}"


@pytest.fixture(autouse=True)
def in_an_empty_folder(own_workspace: Path) -> None:
    """Change to an empty folder: the developer's `manus.toml` must not apply."""


def replies() -> list[AIMessage]:
    return [AIMessage("", tool_calls=[CALL]), AIMessage("It is sunny.")]


class Custom(BaseChatModel):
    """A custom model as a user writes it: it does not report why a reply ended."""

    left: list[AIMessage] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "custom"

    def bind_tools(self, tools: Any, **_: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=tools)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.left.pop(0))])


class Streaming(Custom):
    """The same model, which streams its calls in chunks."""

    def _stream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> Iterator[ChatGenerationChunk]:
        reply = self.left.pop(0)
        for tool_call in reply.tool_calls:
            args = '{"city": "Graz, 世界"}'
            for name, piece in ((tool_call["name"], args[:9]), (None, args[9:])):
                chunk = tool_call_chunk(name=name, args=piece, id=tool_call["id"], index=0)
                message = AIMessageChunk(content="", tool_call_chunks=[chunk])
                yield ChatGenerationChunk(message=message)
        if reply.text:
            yield ChatGenerationChunk(message=AIMessageChunk(content=reply.text))


class Fake(GenericFakeChatModel):
    """LangChain's fake model, which cannot bind tools."""


MODELS: dict[str, Callable[[], BaseChatModel]] = {
    "custom": lambda: Custom(left=replies()),
    "streaming": lambda: Streaming(left=replies()),
    "fake": lambda: Fake(messages=iter(replies())),
}


# LangChain's fake model cannot stream a message that consists of a call
@pytest.mark.parametrize(
    ("kind", "is_watched"),
    [(kind, is_watched) for kind in ("custom", "streaming") for is_watched in (False, True)]
    + [("fake", False)],
)
async def test_a_parsed_call_needs_no_finish_reason(kind: str, is_watched: bool) -> None:
    agent = build_agent(MODELS[kind](), tools=[weather])
    modes: Any = ["values", "messages"] if is_watched else ["values"]
    stream = agent.astream(REQUEST, context=CONTEXT, stream_mode=modes)
    *_, (_, result) = [part async for part in stream if part[0] == "values"]
    assert (result["stop_reason"], result["output"]) == ("answered", "It is sunny.")
    assert [m.text for m in result["messages"] if m.type == "tool"] == ["sunny in Graz, 世界"]


class Silent(Custom):
    """A model whose stream has no chunks."""

    def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        yield from ()


class Blank(Custom):
    """A model whose stream has one chunk without anything."""

    def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk(content=""))


class Refusing(Custom):
    """A model that refuses to stream, as some proxies do."""

    def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        raise RuntimeError("Streaming is not supported.")


@pytest.mark.parametrize("is_watched", [False, True])
@pytest.mark.parametrize("kind", [Silent, Blank, Refusing])
async def test_a_model_need_not_stream(kind: type[Custom], is_watched: bool) -> None:
    agent = build_agent(kind(left=replies()), tools=[weather])
    modes: Any = ["values", "messages"] if is_watched else ["values"]
    stream = agent.astream(REQUEST, context=CONTEXT, stream_mode=modes)
    *_, (_, result) = [part async for part in stream if part[0] == "values"]
    assert (result["stop_reason"], result["output"]) == ("answered", "It is sunny.")


@pytest.mark.parametrize("options", [{}, {"disable_streaming": True}, {"streaming": True}])
async def test_nothing_but_the_callers_model_is_asked(
    server: ScriptedServer, options: dict[str, Any]
) -> None:
    """Its server is not asked for its context window, either."""
    server.pages = vllm("scripted", 4_096)
    server.script(call("weather", city="Graz"), text("It is sunny."))
    agent = build_agent(openai(server, **options), tools=[weather])
    stream = agent.astream(REQUEST, context=CONTEXT, stream_mode=["values", "messages"])
    *_, (_, result) = [part async for part in stream if part[0] == "values"]
    assert (result["stop_reason"], result["output"]) == ("answered", "It is sunny.")
    assert (len(server.requests), server.looks) == (2, [])
    if "disable_streaming" in options:
        assert not any(request.body.get("stream") for request in server.requests)


async def test_a_program_may_answer_the_requests_of_our_own_client(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As frameworks for evaluations do, it replaces a method of the SDK; nothing is sent."""
    seen: list[Any] = []

    async def request(
        _: Any, cast_to: Any, options: Any, *, stream: bool = False, **__: Any
    ) -> Any:
        assert not stream
        seen.append(options.json_data)
        completion = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
        message = {"role": "assistant", "content": "It is sunny."}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        whole = cast_to.model_validate({**completion, "choices": [choice]})
        return SimpleNamespace(parse=lambda: whole, headers={})

    monkeypatch.setattr(AsyncOpenAI, "request", request)
    context = {**CONTEXT, "model": "scripted", "base_url": server.base_url}
    result = await build_agent(tools=[weather]).ainvoke(REQUEST, context=context)
    assert (result["stop_reason"], result["output"]) == ("answered", "It is sunny.")
    [body] = seen
    assert (body["model"], body["messages"][-1]["role"]) == ("scripted", "user")
    assert server.requests == []


def openai(server: ScriptedServer, **more: Any) -> ChatOpenAI:
    options: dict[str, Any] = {"model": "scripted", "base_url": server.base_url, "api_key": "x"}
    return ChatOpenAI(**options, **more, max_retries=0)


WRAPPERS: dict[str, Callable[[BaseChatModel], Any]] = {
    "bind": lambda model: model.bind(temperature=0.25),
    "retry": lambda model: model.with_retry(stop_after_attempt=2),
    "config": lambda model: model.with_config(tags=["mine"]),
    "fallbacks": lambda model: model.with_fallbacks([model.bind(temperature=1.0)]),
    "all": lambda model: model.bind(temperature=0.25).with_retry().with_fallbacks([model]),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
async def test_a_wrapped_model_works(server: ScriptedServer, wrapper: str) -> None:
    server.script(call("weather", city="Graz"), text("It is sunny."))
    agent = build_agent(model=WRAPPERS[wrapper](openai(server)), tools=[weather])
    result = await agent.ainvoke(REQUEST, context=CONTEXT)
    assert (result["stop_reason"], result["output"]) == ("answered", "It is sunny.")
    assert {request.model for request in server.requests} == {"scripted"}
    assert all(request.tools for request in server.requests)
    if wrapper in ("bind", "all"):
        assert server.requests[0].body["temperature"] == 0.25


async def test_a_fallback_gets_the_same_tools(
    server: ScriptedServer, new_server: Callable[[], ScriptedServer]
) -> None:
    broken = new_server().always(fail(400, message="No."))
    server.script(call("weather", city="Graz"), text("It is sunny."))
    model = openai(broken).with_fallbacks([openai(server).bind(temperature=0.25)])
    result = await build_agent(model, tools=[weather]).ainvoke(REQUEST, context=CONTEXT)
    assert result["output"] == "It is sunny."
    assert [len(r.tools or ()) for r in server.requests] == [1, 1]
    assert server.requests[0].body["temperature"] == 0.25


async def test_tools_bound_before_are_replaced_by_those_of_the_run(server: ScriptedServer) -> None:
    def other(city: str) -> str:
        """Do something else."""
        return city

    server.script(text("Sunny."))
    agent = build_agent(openai(server).bind_tools([other], tool_choice="any"), tools=[weather])
    assert (await agent.ainvoke(REQUEST, context=CONTEXT))["output"] == "Sunny."
    assert [t["function"]["name"] for t in server.requests[0].tools or ()] == ["weather"]
    assert "tool_choice" not in server.requests[0].body


def test_other_objects_than_chat_models_are_rejected() -> None:
    with pytest.raises(SettingsError, match="`RunnableLambda` is not a chat model"):
        build_agent(model=RunnableLambda(str))


def test_every_alias_names_a_provider() -> None:
    assert set(ALIASES.values()) <= set(PROVIDERS)


NAMED = {
    "ollama:qwen3": ("ollama", "qwen3"),
    "ollama:qwen3:8b": ("ollama", "qwen3:8b"),
    "Groq:llama-3.3-70b": ("groq", "llama-3.3-70b"),
    "mistralai:mistral-large-latest": ("mistralai", "mistral-large-latest"),
    "deepseek:deepseek-chat": ("deepseek", "deepseek-chat"),
    "xai:grok-4": ("xai", "grok-4"),
    "vertexai:gemini-2.5-pro": ("google_vertexai", "gemini-2.5-pro"),
    "google_vertexai:gemini-2.5-pro": ("google_vertexai", "gemini-2.5-pro"),
    "deepseek-r1:8b": ("openai", "deepseek-r1:8b"),
}


@pytest.mark.parametrize("spec", NAMED)
def test_a_provider_is_distinguished_from_a_module_and_a_bare_name(spec: str) -> None:
    assert split_spec(spec) == NAMED[spec]
    if split_spec(spec)[0] != "openai":
        assert build_agent(spec).profile.model == spec


MISSING = {
    "groq:x": ("langchain-groq", "EXTRAS=groq"),
    "mistralai:x": ("langchain-mistralai", "EXTRAS=mistralai"),
    "deepseek:x": ("langchain-deepseek", "EXTRAS=deepseek"),
    "xai:x": ("langchain-xai", "EXTRAS=xai"),
    "vertexai:x": ("langchain-google-vertexai", "EXTRAS=vertexai"),
    "perplexity:x": ("langchain-perplexity", "pip install"),
    "azure_ai:x": ("langchain-azure-ai", "pip install"),
}


@pytest.mark.parametrize("spec", MISSING)
async def test_a_missing_package_is_named_with_its_extra(
    spec: str, subtests: pytest.Subtests
) -> None:
    """None of these is installed for the tests."""
    with pytest.raises(SettingsError) as caught:
        await build_model(ModelSettings(model=spec), Path())
    assert "\n" not in str(caught.value)
    for words in MISSING[spec]:
        with subtests.test(words=words):
            assert words in str(caught.value)


async def test_ollama_is_called_with_its_own_protocol(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the configured window, which its server then gives the model."""
    settings = ModelSettings.model_validate(
        {
            "model": "ollama:qwen3",
            "base_url": server.base_url.removesuffix("/v1"),
            "context_window": 20_000,
            "max_tokens": 77,
            "temperature": 0.5,
            "timeout": 3,
        }
    )
    model = await build_model(settings, Path())
    with pytest.raises(Exception, match="Unknown request"):
        await model.ainvoke([HumanMessage("Hi.")])
    assert server.violations == ["There is no POST /api/chat."]
    server.violations.clear()
    ollama: Any = model
    assert (ollama.num_ctx, ollama.num_predict, ollama.temperature) == (20_000, 77, 0.5)
