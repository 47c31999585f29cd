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

KEY = SecretStr("secret")
NAMES = {
    "gpt-5": ("openai", "gpt-5"),
    "openai:gpt-5": ("openai", "gpt-5"),
    "llama3:8b": ("openai", "llama3:8b"),
    "ft:gpt-4o:acme::abc": ("openai", "ft:gpt-4o:acme::abc"),
    "anthropic:claude-sonnet": ("anthropic", "claude-sonnet"),
    "anthropic:": ("openai", "anthropic:"),
    "google_genai:gemini-2.5-pro": ("google", "gemini-2.5-pro"),
}
ADDRESSES: list[tuple[dict[str, Any], str]] = [
    ({"model": "anthropic:x"}, "anthropic's own address"),
    ({"base_url": "https://me:secret@host:8000/v1?key=s/t"}, "https://host:8000/v1"),
    ({"base_url": "no address@all"}, "no address@all"),
]


def test_the_name_of_a_model_and_its_address_in_messages() -> None:
    assert {spec: split_spec(spec) for spec in NAMES} == NAMES
    for settings, address in ADDRESSES:
        assert address_of(ModelSettings(**settings)) == address


LIMIT, WARM = {"MAX_TOKENS": "100"}, {"TEMPERATURE": "0.5"}
LOW, NONE = {"REASONING_EFFORT": "low"}, {"REASONING_EFFORT": "none"}
CHOSEN: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    ("qwen3", {}, {}),
    ("qwen3", {**LIMIT, **WARM}, {"max_tokens": 100, "temperature": 0.5}),
    ("gpt-4o", LIMIT, {"max_tokens": 100}),
    ("gpt-5-chat-latest", WARM, {"temperature": 0.5}),
    # OpenAI's reasoning models take another limit, and a temperature only if they do not reason
    ("gpt-5-mini", {**LIMIT, **WARM}, {"max_completion_tokens": 100}),
    ("openai/o3", {**WARM, **LOW}, {"reasoning_effort": "low"}),
    ("openai/gpt-5", {**WARM, **NONE}, {"temperature": 0.5, "reasoning_effort": "none"}),
]


async def test_what_was_chosen_is_sent_under_the_models_own_name(agent: ScriptedAgent) -> None:
    always = {"messages", "model", "tools", "stream", "stream_options"}
    for number, (model, chosen, sent) in enumerate(CHOSEN):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in chosen.items():
                patch.setenv(f"MANUS_{name}", value)
            await agent.run(text("Hello."), model=model, thread=str(number))
        body = agent.server.requests[-1].body
        assert {k: v for k, v in body.items() if k not in always} == sent


async def test_a_key_and_its_address(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    await agent.run(text("Hello."))
    monkeypatch.setenv("MANUS_API_KEY", "secret")
    monkeypatch.setenv("MANUS_BASE_URL", agent.server.base_url)
    await agent.run(text("Hello."), thread="with")
    keys = [request.headers["authorization"] for request in agent.server.requests]
    assert keys == ["Bearer none", "Bearer secret"]


PACKAGES = {
    "anthropic": "langchain-anthropic",
    "google": "langchain-google-genai",
    "bedrock": "langchain-aws",
}


async def test_what_a_provider_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="its endpoint"):
        await build_model(ModelSettings(model="azure:mine", api_key=KEY), Path())
    for provider, package in PACKAGES.items():
        # what Python itself has for "not to be found"
        monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
        with pytest.raises(SettingsError, match=f"`{provider}` needs .*pip install {package}"):
            await build_model(ModelSettings(model=f"{provider}:x", api_key=KEY), Path())
