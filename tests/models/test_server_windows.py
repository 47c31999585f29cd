"""The context window that the server reports, and a server that drops a part of the request."""

import logging
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from manus.config.model_settings import ModelSettings
from manus.graph.profiles import PROFILES
from manus.models.server_window import ServerWindow, find_window, is_private, is_truncated
from tests.helpers.agent import ScriptedAgent
from tests.server import Raw, ScriptedServer, call, cut, text, tokens
from tests.server.products import Pages, llama_cpp, lm_studio, models, ollama, vllm
from tests.server.replies import as_message, reply_json

NAME = "qwen3:8b"
SAID: dict[str, tuple[Pages, ServerWindow]] = {
    "Ollama, loaded": (ollama(NAME, 4_096), ServerWindow(4_096, "Ollama")),
    "Ollama, loaded under its whole name": (
        ollama(f"{NAME}:latest", 8_192),
        ServerWindow(8_192, "Ollama"),
    ),
    "Ollama, not loaded": (ollama(NAME), ServerWindow(None, "Ollama")),
    "llama.cpp": (llama_cpp(NAME, 4_096), ServerWindow(4_096, "llama.cpp")),
    "vLLM": (vllm(NAME, 20_000), ServerWindow(20_000, "vLLM")),
    "LM Studio, loaded": (lm_studio(NAME, 4_096), ServerWindow(4_096, "LM Studio")),
    "LM Studio, not loaded": (lm_studio(NAME), ServerWindow(None, "LM Studio")),
    "OpenRouter": (
        {"/v1/models": models("x", NAME, owner="", context_length=131_072)},
        ServerWindow(131_072),
    ),
    "Groq": (
        {"/v1/models": models(NAME, owner="Alibaba Cloud", context_window=131_072)},
        ServerWindow(131_072),
    ),
    "one that says nothing": ({"/v1/models": models(NAME, owner="x")}, ServerWindow(None)),
    "one that has no list": ({"/v1/models": reply_json([], 404)}, ServerWindow(None)),
}


@pytest.mark.parametrize("case", SAID)
async def test_windows_reported_by_servers(server: ScriptedServer, case: str) -> None:
    server.pages, window = SAID[case]
    endpoint = ModelSettings(model=NAME, base_url=server.base_url, api_key=SecretStr("sk-x"))
    assert await find_window(endpoint) == window
    assert {look.headers["authorization"] for look in server.looks} == {"Bearer sk-x"}


async def test_an_unavailable_server_reports_no_window(server: ScriptedServer) -> None:
    for address in ("http://127.0.0.1:9/v1", "no address"):
        assert await find_window(ModelSettings(model=NAME, base_url=address)) is None


PRIVATE = {
    "http://localhost:11434/v1": True,
    "http://192.168.1.5:8000/v1": True,
    "http://[::1]:8000/v1": True,
    "http://ollama:11434/v1": True,
    "http://box.local/v1": True,
    "https://openrouter.ai/api/v1": False,
    "https://8.8.8.8/v1": False,
}


@pytest.mark.parametrize("address", PRIVATE)
def test_only_local_servers_are_queried_at_other_paths(address: str) -> None:
    assert is_private(address) is PRIVATE[address]


async def test_a_long_history_is_compacted_for_the_window_of_the_server(
    agent: ScriptedAgent,
) -> None:
    agent.server.pages = vllm("scripted", 6_000)
    (agent.workspace / "long").write_text("A wall, a door and a window.\n" * 150)
    agent.server.when(lambda r: "notes" in str(r.messages[0]["content"]).lower()).always(
        text("## Found\n- A wall [#1]")
    )
    agent.server.always(call("read", path="long"))
    events = await agent.events(max_steps=9)
    [first, *_] = [event for event in events if event["type"] == "compaction"]
    assert first["window"] == 6_000


HALF = tokens(2_051, 20)
LONG = "Read this: " + "the quick brown fox jumps over the lazy dog. " * 900


async def test_a_server_that_drops_a_part_is_an_error_with_the_setting_to_change(
    agent: ScriptedAgent,
) -> None:
    """As Ollama does: of 10,000 tokens it keeps half of a window of 4,096 tokens."""
    agent.server.pages = ollama("scripted")

    def answer(_: Any) -> Any:
        agent.server.pages = ollama("scripted", 4_096)
        return text("Which text?", usage=HALF)

    agent.server.script(answer).always(text("What?", usage=HALF))
    outcome = await agent.run(request=LONG, tool_choice="none")
    last_texts = "\n".join(str(r.last["content"])[:80] for r in agent.server.requests)
    assert len(agent.server.requests) == 2, last_texts
    assert len(agent.server.requests[1].raw) < 0.5 * len(agent.server.requests[0].raw)
    assert (outcome.stop_reason, outcome.output) == ("answered", "What?"), "it fits once shortened"


async def test_a_request_that_cannot_be_shortened_ends_the_run(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    """The instructions and tools alone exceed the window."""
    agent = ScriptedAgent(agent.server, agent.workspace, agent.saver, PROFILES["manus"])
    agent.server.pages = llama_cpp("scripted", 1_024)
    agent.server.always(text("Which text?", usage=tokens(515, 20)))
    outcome = await agent.run()
    assert (outcome.status, outcome.stop_reason) == ("error", "error")
    for words in ("1,024 tokens", "and 515 arrived", "`-c 32768`", "\n"):
        with subtests.test(words=words):
            assert (words in outcome.output) is (words != "\n")


async def test_a_count_far_below_is_reported_once_if_the_window_is_unknown(
    agent: ScriptedAgent, caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    with caplog.at_level(logging.WARNING, "manus"):
        await agent.run(text("Which text?", usage=HALF), request=LONG)
        outcome = await agent.run(text("Which?", usage=HALF), request=LONG, thread="again")
    messages = [
        record.getMessage() for record in caplog.records if "arrived" in record.getMessage()
    ]
    assert len(messages) == 1
    for words in ("2,051 arrived", agent.server.base_url, "OLLAMA_CONTEXT_LENGTH"):
        with subtests.test(words=words):
            assert words in messages[0]
    assert outcome.output == "Which?", "the reply counts anyway"


async def test_a_small_window_is_reported_once_with_the_setting(
    agent: ScriptedAgent, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.server.pages = lm_studio("scripted", 4_096)
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "4000")
    with caplog.at_level(logging.WARNING, "manus"):
        await agent.run(text("Hello."))
        assert caplog.records == [], "the settings already specify it"
        monkeypatch.delenv("MANUS_CONTEXT_WINDOW")
        await agent.run(call("poll"), text("Hello."), thread="again")
    [message] = [record.getMessage() for record in caplog.records]
    assert "a context window of 4,096 tokens" in message
    assert "lms load" in message


FIGURES: dict[str, tuple[int, int, bool, bool]] = {
    "fits": (3_000, 2_900, False, False),
    "fits, and the estimate is high": (4_500, 3_800, False, False),
    "half is left": (10_000, 2_051, False, True),
    "all of the window is left": (10_000, 4_090, False, True),
    "a little is missing": (4_700, 3_700, True, True),
    "more was counted than there is room for": (10_000, 9_800, True, False),
}
"""Estimated and counted tokens, whether the estimate is exact, and whether a part was dropped."""


@pytest.mark.parametrize("case", FIGURES)
def test_truncation_is_distinguished_from_other_counting(case: str) -> None:
    estimate, counted, is_exact, was_dropped = FIGURES[case]
    assert is_truncated(estimate, counted, 4_096, is_exact=is_exact) is was_dropped


@pytest.mark.parametrize("size", [4_096, 40_960])
async def test_a_server_is_queried_once_and_not_at_every_step(
    agent: ScriptedAgent, size: int
) -> None:
    agent.server.pages = ollama("scripted", size)
    await agent.run(call("poll"), call("poll"), text("Done."))
    assert len(agent.server.looks) <= 4


async def test_a_server_without_these_paths_works_as_before(agent: ScriptedAgent) -> None:
    broken = Raw(b"<html>", 500, "text/html")
    agent.server.pages = {"/v1/models": broken, "/api/ps": broken, "/props": broken}
    assert (await agent.run(text("Hello."))).output == "Hello."


async def test_a_server_that_disconnects_is_not_queried_at_every_step(agent: ScriptedAgent) -> None:
    agent.server.pages = {"/v1/models": cut()}
    await agent.run(*(call("poll") for _ in range(5)), text("Done."))
    assert len(agent.server.looks) == 1


async def test_a_server_that_counts_too_little_is_not_queried_at_every_step(
    agent: ScriptedAgent,
) -> None:
    steps = (replace(as_message(call("poll")), usage=tokens(10, 5)) for _ in range(6))
    await agent.run(*steps, text("Done."), request="word " * 4_000)
    assert len(agent.server.looks) <= 8  # twice, at four addresses
