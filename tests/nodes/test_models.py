"""From settings to a chat model."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from manus.models.providers import address_of, build_model
from manus.state.errors import SettingsError
from manus.state.model_settings import ModelSettings, split_spec
from tests.helpers.agent import ScriptedAgent
from tests.server import text

HERE = "http://localhost:11434/v1"
KEY = SecretStr("secret")


async def build(**settings: Any) -> Any:
    return await build_model(ModelSettings(**settings), Path())


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("gpt-5", ("openai", "gpt-5")),
        ("openai:gpt-5", ("openai", "gpt-5")),
        ("llama3:8b", ("openai", "llama3:8b")),
        ("ft:gpt-4o:acme::abc", ("openai", "ft:gpt-4o:acme::abc")),
        ("anthropic:claude-sonnet", ("anthropic", "claude-sonnet")),
        ("anthropic:", ("openai", "anthropic:")),
        ("google_genai:gemini-2.5-pro", ("google", "gemini-2.5-pro")),
    ],
)
def test_the_name_of_a_model(spec: str, parts: tuple[str, str]) -> None:
    assert split_spec(spec) == parts


LIMIT, WARM = {"MAX_TOKENS": "100"}, {"TEMPERATURE": "0.5"}
CHOSEN: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    ("qwen3", {}, {}),
    ("qwen3", {**LIMIT, **WARM}, {"max_tokens": 100, "temperature": 0.5}),
    ("gpt-4o", LIMIT, {"max_tokens": 100}),
    ("gpt-5-chat-latest", WARM, {"temperature": 0.5}),
    # OpenAI's reasoning models take another limit, and a temperature only if they do not reason
    ("gpt-5-mini", {**LIMIT, **WARM}, {"max_completion_tokens": 100}),
    ("openai/o3", {**WARM, "REASONING_EFFORT": "low"}, {"reasoning_effort": "low"}),
    (
        "openai/gpt-5",
        {**WARM, "REASONING_EFFORT": "none"},
        {"temperature": 0.5, "reasoning_effort": "none"},
    ),
]


@pytest.mark.parametrize(("model", "chosen", "sent"), CHOSEN)
async def test_what_was_chosen_is_sent_under_the_name_that_the_model_knows(
    agent: ScriptedAgent,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    chosen: dict[str, str],
    sent: dict[str, Any],
) -> None:
    for name, value in chosen.items():
        monkeypatch.setenv(f"MANUS_{name}", value)
    await agent.run(text("Hello."), model=model)
    [request] = agent.server.requests
    always = {"messages", "model", "tools", "stream", "stream_options"}
    assert {k: v for k, v in request.body.items() if k not in always} == sent


async def test_a_key_is_sent_to_its_address(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.run(text("Hello."))
    monkeypatch.setenv("MANUS_API_KEY", "secret")
    monkeypatch.setenv("MANUS_BASE_URL", agent.server.base_url)
    await agent.run(text("Hello."), thread="with")
    keys = [request.headers["authorization"] for request in agent.server.requests]
    assert keys == ["Bearer none", "Bearer secret"]


async def test_azure_without_its_endpoint() -> None:
    with pytest.raises(SettingsError, match="its endpoint"):
        await build(model="azure:mine", api_key=KEY)


@pytest.mark.parametrize(
    ("provider", "package", "module"),
    [
        ("anthropic", "langchain-anthropic", "langchain_anthropic"),
        ("google", "langchain-google-genai", "langchain_google_genai"),
        ("bedrock", "langchain-aws", "langchain_aws"),
    ],
)
async def test_a_provider_whose_package_is_missing(
    provider: str, package: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # what Python itself has for "not to be found"
    with pytest.raises(SettingsError, match=f"`{provider}` needs .*pip install {package}"):
        await build(model=f"{provider}:x", api_key=KEY)


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({"model": "anthropic:x"}, "anthropic's own address"),
        ({"base_url": "https://me:secret@host:8000/v1?key=s/t"}, "https://host:8000/v1"),
        ({"base_url": "no address@all"}, "no address@all"),
    ],
)
def test_the_address_in_messages(settings: dict[str, Any], address: str) -> None:
    assert address_of(ModelSettings(**settings)) == address
