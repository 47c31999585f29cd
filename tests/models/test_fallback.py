"""Models from settings and by role, failing endpoints, and their fallbacks."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from manus.config.model_settings import ModelSettings, split_spec
from manus.models.chat_models import build_model
from manus.models.providers import get_address
from manus.state.errors import SettingsError
from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.helpers.agent import ScriptedAgent
from tests.server import Scripted, ScriptedServer, call, calls, fail, reply_stream, text


async def test_an_endpoint_that_rejects_is_skipped(
    configured: ScriptedAgent, second: ScriptedServer
) -> None:
    second.script(call("append", path="a.txt", line="one"), text("done"))
    events = await configured.events(fail(401), fail(404))
    outcome = await configured.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "done")
    assert len(configured.server.requests) == 2, "once per step"
    assert [request.model for request in second.requests] == ["other", "other"]
    assert all("sk-main" not in r.headers.get("authorization", "") for r in second.requests)
    first, _ = [event for event in events if event["type"] == "retry"]
    assert first["reason"].endswith("Asking `other` instead.")


@pytest.mark.environ(MANUS_RETRY_FOR="0.5")
async def test_an_unavailable_endpoint_is_skipped(
    configured: ScriptedAgent, second: ScriptedServer
) -> None:
    second.script(text("done"))
    configured.server.always(fail(503))
    outcome = await configured.run()
    assert outcome.stop_reason == "answered"
    assert len(configured.server.requests) >= 2


async def test_if_all_fail_each_error_is_listed(
    configured: ScriptedAgent, second: ScriptedServer
) -> None:
    second.script(fail(401))
    outcome = await configured.run(fail(404))
    assert outcome.stop_reason == "error"
    assert "All 2 models failed" in outcome.output
    assert "refused the key (401)" in outcome.output


async def test_two_empty_replies_are_an_error(agent: ScriptedAgent, second: ScriptedServer) -> None:
    outcome = await agent.run(text(""), text(" \n"))
    assert second.requests == [], "an address given to a run has no fallback"
    assert (outcome.stop_reason, outcome.success) == ("error", False)
    assert "empty reply from `scripted`" in outcome.output
    assert outcome.usage["model_calls"] == 2
    assert (await agent.run(text("Here."))).output == "Here.", "the thread stays usable"


async def test_silence_and_a_content_filter_skip_the_endpoint_for_one_request(
    configured: ScriptedAgent, second: ScriptedServer, subtests: pytest.Subtests
) -> None:
    second.script(text("done"))
    assert (await configured.run(text(""), text(""), base_url=None)).output == "done"
    refusals: dict[str, Scripted] = {
        "of the reply": text("No.", finish_reason="content_filter"),
        "of the request": fail(400, code="content_filter", message="It was filtered."),
        "by a gateway": fail(403, message="Your input was flagged."),
        "in a stream": reply_stream(
            {"error": {"message": "Bad.", "type": "data_inspection_failed"}}
        ),
    }
    for name, refusal in refusals.items():
        with subtests.test(name=name, refusal=refusal):
            second.script(text("from the other"))
            outcome = await configured.run(refusal, thread=name, base_url=None)
            assert outcome.output == "from the other"
            outcome = await configured.run(text("mine"), thread=name, base_url=None)
            assert outcome.output == "mine"


async def test_a_filtered_or_truncated_reply_executes_nothing(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    """Whatever the finish reason is called by OpenAI, Anthropic, Google, Bedrock or Zhipu."""
    names = ("content_filter", "refusal", "SAFETY", "RECITATION", "guardrail_intervened")
    for name in (*names, "sensitive"):
        with subtests.test(name=name):
            bad = calls(call("append", path="a.txt", line="one"), finish_reason=name)
            outcome = await agent.run(bad, thread=name)
            assert outcome.stop_reason == "error"
            assert f"stopped the reply of `scripted` ({name.lower()})" in outcome.output
    for name in ("length", "max_tokens", "model_context_window_exceeded"):
        with subtests.test(name=name):
            half = calls(call("append", raw='{"path": "a.txt", "line": "1'), finish_reason=name)
            await agent.run(half, text("done"), thread=name)
            assert "length limit" in (await agent.observations(name))[0]
    assert agent.lines("a.txt") == []


async def test_a_cost_limit_also_requires_the_price_of_a_fallback(
    configured: ScriptedAgent, second: ScriptedServer, tmp_path: Path
) -> None:
    with (tmp_path / "manus.toml").open("a") as file:
        file.write("\n[prices.scripted]\ninput = 1.0\noutput = 1.0\n")
    with pytest.raises(ValueError, match="`other` has no price"):
        await configured.run(budget={"cost": 1.0})


def test_a_fallback_inherits_settings_but_no_key_for_another_address() -> None:
    models = ["gpt-4o", "anthropic:claude", {"model": "m", "base_url": "http://b/v1"}]
    primary = {"model": "gpt-5", "base_url": "http://a/v1", "api_key": "k", "timeout": 3}
    main = ModelSettings.model_validate({**primary, "fallback": models})
    own, same, other, moved = main.with_fallbacks()
    assert own.fallback == ()
    assert (same.base_url, same.api_key, same.timeout) == ("http://a/v1", main.api_key, 3)
    assert (other.model, other.base_url, other.api_key) == ("anthropic:claude", None, None)
    assert (moved.base_url, moved.api_key) == ("http://b/v1", None)
    assert main.at(None, "http://evil/v1").fallback == ()


async def test_a_role_has_its_own_parameters_and_fallbacks(consulter: ScriptedAgent) -> None:
    Path("manus.toml").write_text(
        f"""
        reasoning_effort = "high"
        fallback = ["never-asked"]
        [roles.extract]
        model = "small"
        base_url = "{consulter.server.base_url}"
        reasoning_effort = "low"
        temperature = 0.5
        fallback = ["smaller"]
        """
    )
    consulter.server.when(lambda r: r.model == "small", fail(404))
    consulter.server.when(lambda r: r.model == "smaller", text("A page."))
    outcome = await consulter.run(call("consult", path="said", line="What?"), text("Done."))
    assert outcome.output == "Done."
    assert consulter.lines("said") == ["A page."]
    requests = consulter.server.requests
    assert [r.model for r in requests] == ["scripted", "small", "smaller", "scripted"]
    effort = [r.body.get("reasoning_effort") for r in requests]
    assert effort == ["high", "low", "low", "high"]
    assert [r.body.get("temperature") for r in requests] == [None, 0.5, 0.5, None]
    assert outcome.usage["roles"]["extract"]["model_calls"] == 1


async def test_the_planner_has_its_own_model(agent: ScriptedAgent) -> None:
    address = agent.server.base_url
    Path("manus.toml").write_text(
        f'[roles.plan]\nmodel = "planner"\nbase_url = "{address}"\nreasoning_effort = "high"\n'
    )
    agent.server.when(lambda r: r.model == "planner", makes("Pack the bag"))
    flow = ScriptedFlow(agent.server, agent.workspace, agent.saver)
    await flow.run(succeeds("Packed."), text("You can go."))
    first = flow.server.requests[0]
    assert (first.model, first.body["reasoning_effort"]) == ("planner", "high")
    rest = flow.server.requests[1:]
    assert "scripted" in {request.model for request in rest}
    assert all(r.body.get("reasoning_effort") is None for r in rest if r.model == "scripted")
    assert await flow.statuses() == ["completed"]


async def test_the_vision_model_gets_the_images(agent: ScriptedAgent) -> None:
    Path("manus.toml").write_text(
        f"""
        vision = false
        [roles.vision]
        model = "seeing"
        base_url = "{agent.server.base_url}"
        """
    )
    agent.server.when(lambda r: r.model == "seeing", calls(call("poll"), text="It is red."))
    outcome = await agent.run(call("picture"), text("Red."))
    assert outcome.output == "Red."
    blind, seeing, after = agent.server.requests
    assert [r.model for r in (blind, seeing, after)] == ["scripted", "seeing", "scripted"]
    assert b"data:image/png" in seeing.raw
    assert b"data:image/png" not in after.raw
    assert b"It is red." in after.raw
    assert outcome.usage["roles"]["vision"]["model_calls"] == 1


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


def test_the_name_of_a_model_and_its_address_in_messages(subtests: pytest.Subtests) -> None:
    assert {spec: split_spec(spec) for spec in NAMES} == NAMES
    for settings, address in ADDRESSES:
        with subtests.test(settings=settings, address=address):
            assert get_address(ModelSettings(**settings)) == address


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


async def test_parameters_are_sent_under_the_models_own_names(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    always = {"messages", "model", "tools", "stream", "stream_options"}
    for number, (model, options, expected) in enumerate(CHOSEN):
        with subtests.test(number=number, model=model):
            with pytest.MonkeyPatch.context() as patch:
                for name, value in options.items():
                    patch.setenv(f"MANUS_{name}", value)
                await agent.run(text("Hello."), model=model, thread=str(number))
            body = agent.server.requests[-1].body
            assert {k: v for k, v in body.items() if k not in always} == expected


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


async def test_missing_features_of_a_provider_are_reported(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    with pytest.raises(SettingsError, match="its endpoint"):
        await build_model(ModelSettings(model="azure:mine", api_key=KEY), Path())
    for provider, package in PACKAGES.items():
        # Python's own exception for "not found"
        with subtests.test(provider=provider):
            monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
            with pytest.raises(SettingsError, match=f"`{provider}` needs .*pip install {package}"):
                await build_model(ModelSettings(model=f"{provider}:x", api_key=KEY), Path())
