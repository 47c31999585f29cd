"""Tokens and tool-call arguments as they arrive in Python; what the agent asks itself is silent."""

import json
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from pydantic import BaseModel

from manus.prompts import compaction
from manus.tools.base import AgentTool
from manus.tools.result import Observation
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.helpers.tools import NoArgs
from tests.server import Scripted, call, calls, mentions, text


async def test_an_agents_tokens_and_arguments(agent: ScriptedAgent) -> None:
    write = call("append", path="a.txt", line="Grüße aus 世界. " * 40)
    replies = calls(write, text="I write a line."), text("That was all.")
    parts = await agent.parts("messages", *replies)
    chunks = [message for message, _ in parts if isinstance(message, AIMessageChunk)]
    assert "".join(chunk.text for chunk in chunks) == "I write a line.That was all."
    assert len([chunk for chunk in chunks if chunk.text]) > 4
    pieces = [piece for chunk in chunks for piece in chunk.tool_call_chunks]
    assert len(pieces) > 3
    assert [piece["name"] for piece in pieces if piece["name"]] == ["append"]
    arguments = json.loads("".join(piece["args"] or "" for piece in pieces))
    assert arguments == {"path": "a.txt", "line": "Grüße aus 世界. " * 40}
    assert {metadata["langgraph_node"] for _, metadata in parts} == {"think", "act"}
    history = await agent.messages()
    assert {message.id for message, _ in parts} == {m.id for m in history if m.type != "human"}


class Wonder(AgentTool):
    """Asks a model, as the browser does about a page."""

    name: str = "wonder"
    description: str = "Wonder."
    args_schema: type[BaseModel] = NoArgs

    async def observe(self, **_: Any) -> Observation:
        assert self.session.complete is not None
        return Observation(await self.session.complete("extract", [HumanMessage("Whisper this.")]))


async def watched(agent: ScriptedAgent, *replies: Scripted) -> str:
    """The words that a watcher of the tokens sees; tool messages are none."""
    parts = await agent.parts("messages", *replies)
    return "".join(m.text for m, _ in parts if isinstance(m, AIMessage))


async def test_what_a_tool_asks_a_model_is_silent(agent: ScriptedAgent) -> None:
    profile = replace(TESTER, tools=(Wonder, "terminate"))
    wondering = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
    agent.server.when(lambda r: r.last["content"] == "Whisper this.", text("Psst, a secret."))
    assert await watched(wondering, call("wonder"), text("Done.")) == "Done."
    assert await wondering.observations() == ["Psst, a secret."]


async def test_compaction_is_silent(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "4000")
    notes = agent.server.when(mentions(compaction.SUMMARIZER[:40]))
    notes.always(text("- A long file was read. [#2]"))
    reads = []
    for place in range(5):
        (agent.workspace / f"{place}.txt").write_text(f"line {place} of a long text\n" * 120)
        reads.append(call("read", path=f"{place}.txt"))
    assert await watched(agent, *reads, text("Done.")) == "Done."
    asked = [r for r in agent.server.requests if compaction.SUMMARIZER[:40] in r.text]
    assert asked, "the history was made shorter"
    assert (await agent.outcome()).output == "Done."
