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


async def test_nothing_is_sent_that_was_not_chosen(agent: ScriptedAgent) -> None:
    await agent.run(text("Hello."))
    [request] = agent.server.requests
    assert set(request.body) == {"messages", "model", "tools", "stream", "stream_options"}
    assert request.headers["authorization"] == "Bearer none"


async def test_what_was_chosen_is_sent(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_API_KEY", "secret")
    monkeypatch.setenv("MANUS_TEMPERATURE", "0.5")
    monkeypatch.setenv("MANUS_BASE_URL", agent.server.base_url)
    await agent.run(text("Hello."))
    [request] = agent.server.requests
    assert request.body["temperature"] == 0.5
    assert request.headers["authorization"] == "Bearer secret"


async def test_the_limit_of_a_reply_has_the_name_that_the_server_knows(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compatible servers know the older one, some refuse another; OpenAI's reasoning models do."""
    monkeypatch.setenv("MANUS_MAX_TOKENS", "100")
    names = {
        "qwen3": "max_tokens",
        "gpt-4o": "max_tokens",
        "gpt-5-mini": "max_completion_tokens",
        "openai/o3": "max_completion_tokens",
    }
    for model, name in names.items():
        await agent.run(text("Hello."), model=model, thread=model)
        body = agent.server.requests[-1].body
        assert {key: body[key] for key in body if key.startswith("max_")} == {name: 100}


@pytest.mark.parametrize("effort", [None, "low", "none"])
async def test_reasoning_models_of_openai_get_no_temperature(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, effort: str | None
) -> None:
    """One for all models is not refused by those that take none."""
    monkeypatch.setenv("MANUS_TEMPERATURE", "0.5")
    if effort is not None:
        monkeypatch.setenv("MANUS_REASONING_EFFORT", effort)
    for model in ("openai/gpt-5", "gpt-5-chat-latest", "qwen3"):
        await agent.run(text("Hello."), model=model, thread=model)
        body = agent.server.requests[-1].body
        takes_one = effort == "none" or model in ("gpt-5-chat-latest", "qwen3")
        assert body.get("temperature") == (0.5 if takes_one else None)
        assert body.get("reasoning_effort") == effort


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
